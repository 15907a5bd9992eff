import { describe, expect, it } from 'vitest'
import { limitsOf } from '../../src/index.js'
import { naming } from '../support/errors.js'
import { type AnyClass, evaluated, type Kind, kinds } from './decorated.js'

const a = { limit: 1, window: '1s' }
const b = { limit: 2, window: '2s' }

/** Its decorators see no class: where another stands above `@Limit`, the first instance tells. */
const unaware: Kind = 'standard without metadata'

/** A decorator of either kind that puts another function in the place of a method. */
function wrap(target: unknown, second: unknown, descriptor?: PropertyDescriptor): unknown {
  const wrapped = (method: unknown) =>
    function (this: unknown, ...given: unknown[]) {
      return (method as (...given: unknown[]) => unknown).apply(this, given)
    }
  if (typeof second === 'object') return wrapped(target)
  return { ...descriptor, value: wrapped(descriptor!.value) }
}

const scope = { a, b, wrap }
const classIn = (kind: Kind, source: string) => evaluated(kind, `${source}; return Reports`, scope)
const classesIn = (kind: Kind, source: string) =>
  evaluated<Record<'Base' | 'Sub', AnyClass>>(kind, `${source}; return { Base, Sub }`, scope)

describe.each(kinds)('@Limit beside a decorator that replaces the method, %s', (kind) => {
  it.each([
    ['above', '@wrap @Limit(a)', a],
    ['below', '@Limit(a) @wrap', a],
    ['on both sides', '@wrap @Limit(a) @wrap', a],
    ['above two', '@wrap @Limit(a) @Limit(b)', { limits: [a, b] }],
    ['below two', '@Limit(a) @Limit(b) @wrap', { limits: [a, b] }]
  ])('%s', (_where, marks, expected) => {
    const Reports = classIn(kind, `class Reports { ${marks} list() {} other() {} }`)
    if (kind === unaware) for (let i = 0; i < 3; i++) new Reports()
    expect(limitsOf(Reports)).toEqual({ list: expected })
  })

  it('in the class that a method is inherited from', () => {
    const { Base, Sub } = classesIn(
      kind,
      'class Base { @wrap @Limit(a) list() {} }; class Sub extends Base {}'
    )
    if (kind === unaware) new Sub()
    expect([limitsOf(Base), limitsOf(Sub)]).toEqual([{ list: a }, { list: a }])
  })

  it('in a class whose method is overridden with a limit of its own', () => {
    const { Base, Sub } = classesIn(
      kind,
      'class Base { @wrap @Limit(a) list() {} }; class Sub extends Base { @Limit(b) list() {} }'
    )
    if (kind === unaware) for (const One of [Sub, Base, Sub]) new One()
    expect([limitsOf(Base), limitsOf(Sub)]).toEqual([{ list: a }, { list: b }])
  })
})

describe.each(kinds.filter((kind) => kind !== unaware))(
  '@Limit on both sides of such a decorator, %s',
  (kind) => {
    it('is one of several', () => {
      const Reports = classIn(kind, 'class Reports { @Limit(a) @wrap @Limit(b) list() {} }')
      expect(limitsOf(Reports)).toEqual({ list: { limits: [a, b] } })
    })
  }
)

describe(`@Limit below such a decorator, ${unaware}`, () => {
  const refused = naming('HEADGATE_MISUSE', '@Limit', '`list`')

  it('is refused where it cannot be told which method it stood on', () => {
    const { Base, Sub } = classesIn(
      unaware,
      'class Base { @wrap @Limit(a) list() {} }; class Sub extends Base { list() {} }'
    )
    expect(() => new Sub()).toThrow(refused)
    new Base()
    new Sub()
    expect([limitsOf(Base), limitsOf(Sub)]).toEqual([{ list: a }, {}])
  })

  it('is refused where another stands above it', () => {
    const Reports = classIn(unaware, 'class Reports { @Limit(a) @wrap @Limit(b) list() {} }')
    expect(() => new Reports()).toThrow(refused)
  })
})
