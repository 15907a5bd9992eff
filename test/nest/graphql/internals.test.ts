import { Reflector } from '@nestjs/core'
import { Query, ResolveField, ResolveReference, Resolver } from '@nestjs/graphql'
import { expect, it } from 'vitest'
import { marks } from '../../../src/nest/internals.js'

@Resolver('Book')
class Books {
  @Query('book')
  book(): string {
    return ''
  }

  @ResolveField('author')
  author(): string {
    return ''
  }

  @ResolveReference()
  reference(): void {}
}

it('decorators of GraphQL leave the marks that we know', () => {
  const reflector = new Reflector()
  const { book, author, reference } = Books.prototype
  const marked = (mark: string, target: unknown) => reflector.get(mark, target as never) !== undefined
  expect({
    class: marked(marks.resolver, Books),
    query: marked(marks.resolver, book),
    field: marked(marks.field, author),
    reference: marked(marks.reference, reference)
  }).toEqual({ class: true, query: true, field: true, reference: true })
})
