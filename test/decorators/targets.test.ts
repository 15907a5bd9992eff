import { describe, expect, it } from 'vitest'
import { Limit, limitsOf } from '../../src/index.js'
import { naming } from '../support/errors.js'
import { type AnyClass, evaluated, type Kind, kinds } from './decorated.js'

const a = { limit: 1, window: '1s' }
const b = { limit: 2, window: '2s' }
const c = { limit: 3, window: '3s' }

const scope = { a, b, c }
const classIn = (kind: Kind, source: string) => evaluated(kind, `${source}; return Reports`, scope)
const classesIn = (kind: Kind, source: string) =>
  evaluated<Record<'Base' | 'Sub', AnyClass>>(kind, `${source}; return { Base, Sub }`, scope)

describe.each(kinds)('targets of @Limit, %s decorators', (kind) => {
  it.each([
    ['a static method', '@Limit(a) static list() {}'],
    ['a getter', '@Limit(a) get list() { return 1 }'],
    ['a setter', '@Limit(a) set list(value) {}'],
    ['a field', '@Limit(a) list = 1'],
    ['a field that has a function', '@Limit(a) list = () => 1'],
    ['a static field', '@Limit(a) static list = 1'],
    ['a static getter', '@Limit.skip() static get list() { return 1 }']
  ])('are not %s', (_what, member) => {
    const define = () => classIn(kind, `class Reports { ${member} }`)
    expect(define).toThrow(naming('HEADGATE_MISUSE', '@Limit', '`list`'))
  })

  it.each([
    ['a class', '@Limit class Reports {}'],
    ['a method', 'class Reports { @Limit list() {} }'],
    ['a static method', 'class Reports { @Limit static list() {} }']
  ])('are not taken without a call: %s', (_what, source) => {
    expect(() => classIn(kind, source)).toThrow(naming('HEADGATE_MISUSE', '@Limit(', 'without a call'))
  })

  it('have names of any kind', () => {
    const list = Symbol('list')
    const found = limitsOf(
      evaluated(
        kind,
        'class Reports { @Limit(a) [list]() {} @Limit(b) "a b"() {} @Limit(c) 7() {} }; return Reports',
        {
          ...scope,
          list
        }
      )
    )
    expect(Reflect.ownKeys(found)).toHaveLength(3)
    expect([found[list], found['a b'], found[7]]).toEqual([a, b, c])
  })

  it('may have names that every object knows', () => {
    const names = ['toString', 'valueOf', 'hasOwnProperty', '__proto__', '__defineGetter__']
    const members = names.map((name) => `@Limit(b) ['${name}']() {}`).join(' ')
    const found = limitsOf(classIn(kind, `@Limit(a) class Reports { ${members} list() {} }`))
    expect(Object.keys(found).sort()).toEqual([...names, 'list'].sort())
    for (const name of names) expect(Object.entries(found)).toContainEqual([name, b])
    expect({}).not.toHaveProperty('list')
  })

  it('are not found under names that every object knows', () => {
    const found: Record<string, unknown> = limitsOf(classIn(kind, 'class Reports { @Limit(a) list() {} }'))
    for (const name of ['constructor', 'toString', 'hasOwnProperty', '__proto__'])
      expect(found[name], name).toBeUndefined()
  })

  it('do not change', () => {
    const Reports = classIn(
      kind,
      '@Limit(a) class Reports { @Limit(b) list(x) { return [this.name, x] } name = "r" }'
    )
    const reports = new Reports()
    expect((reports.list as (x: number) => unknown)(5)).toEqual(['r', 5])
    expect(Reports.name).toBe('Reports')
    expect(Object.keys(reports)).toEqual(['name'])
  })
})

describe.each(kinds)('classes with @Limit, %s decorators', (kind) => {
  it('with the same names never mix', () => {
    const declare = (mark: string) => classIn(kind, `class Reports { ${mark} list() {} }`)
    const all = ['@Limit(a)', '@Limit(b)', '@Limit.skip()', ''].map(declare)
    const expected = [{ list: a }, { list: b }, { list: false }, {}]
    for (const round of ['before', 'after']) {
      expect(
        all.map((one) => limitsOf(one)),
        round
      ).toEqual(expected)
      for (const One of all) expect(new One()).toBeInstanceOf(One)
    }
  })

  const base = 'class Base { list() {} @Limit(b) create() {} }'

  it('pass methods and marks on to those that extend them', () => {
    const { Base, Sub } = classesIn(kind, `@Limit(a) ${base}; class Sub extends Base { search() {} }`)
    expect(limitsOf(Sub)).toEqual({ list: a, create: b, search: a })
    expect(limitsOf(Base)).toEqual({ list: a, create: b })
  })

  it('take a mark of their own in the place of an inherited one', () => {
    const { Base, Sub } = classesIn(kind, `@Limit(a) ${base}; @Limit(c) class Sub extends Base {}`)
    expect([limitsOf(Base), limitsOf(Sub)]).toEqual([
      { list: a, create: b },
      { list: c, create: b }
    ])
  })

  it.each([
    ['without a mark', 'create() {}', {}],
    ['with its own', '@Limit(c) create() {}', { create: c }],
    ['with a skip', '@Limit.skip() create() {}', { create: false }]
  ])('override a method and its marks: %s', (_what, override, expected) => {
    const { Base, Sub } = classesIn(kind, `${base}; class Sub extends Base { ${override} }`)
    for (const First of [Sub, Base, Sub]) {
      expect([limitsOf(Base), limitsOf(Sub)]).toEqual([{ create: b }, expected])
      new First()
    }
  })

  it('do not mark what they extend', () => {
    const { Base, Sub } = classesIn(
      kind,
      'class Base { list() {} }; @Limit(a) class Sub extends Base { @Limit(b) create() {} }'
    )
    new Sub()
    expect([limitsOf(Base), limitsOf(Sub)]).toEqual([{}, { list: a, create: b }])
  })

  it('are read by an instance too, of a class that extends another', () => {
    const { Sub } = classesIn(kind, `@Limit(a) ${base}; class Sub extends Base { create() {} }`)
    expect(limitsOf(new Sub())).toEqual({ list: a, create: a })
  })
})

describe('targets that only decorators of the standard see', () => {
  it.each([
    ['a private method', '@Limit(a) #list() {}'],
    ['an accessor', '@Limit(a) accessor list = 1']
  ])('are not %s', (_what, member) => {
    for (const kind of kinds.slice(1))
      expect(() => classIn(kind, `class Reports { ${member} }`)).toThrow(naming('HEADGATE_MISUSE', 'list'))
  })
})

describe('targets that only legacy decorators see', () => {
  it.each([
    ['of a method', 'class Reports { list(@Limit(a) x) {} }'],
    ['of a constructor', 'class Reports { constructor(@Limit(a) x) {} }']
  ])('are not parameters %s', (_what, source) => {
    expect(() => classIn('legacy', source)).toThrow(naming('HEADGATE_MISUSE', '@Limit'))
  })
})

describe('limitsOf', () => {
  it.each([undefined, null, 5, 'Reports', () => {}])('refuses %s', (given) => {
    expect(() => limitsOf(given as never)).toThrow(naming('HEADGATE_MISUSE'))
  })

  it('reads abstract classes and classes that extend null', () => {
    abstract class Reports {
      @Limit(a) list() {}
    }
    class Bare extends (null as unknown as ObjectConstructor) {
      @Limit(b) list() {}
    }
    expect([limitsOf(Reports), limitsOf(Bare)]).toEqual([{ list: a }, { list: b }])
  })
})
