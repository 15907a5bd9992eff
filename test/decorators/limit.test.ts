import { describe, expect, it } from 'vitest'
import { rateLimit } from '../../src/express/index.js'
import { limitsOf } from '../../src/index.js'
import { naming } from '../support/errors.js'
import { evaluated, kinds } from './decorated.js'

const a = { limit: 1, window: '1s' }
const b = { limit: 2, window: '2s' }
const c = { limit: 3, window: '3s' }
const bucket = { limit: 9, window: '9s', strategy: 'token-bucket', burst: 4, name: 'api' }

const badOption = (option: string) => naming('HEADGATE_BAD_OPTION', option)

describe.each(kinds)('@Limit, %s decorators', (kind) => {
  const returned = (source: string, scope: object = {}) =>
    evaluated(kind, source, { a, b, c, bucket, ...scope })
  /** What limits the methods of the class of this body. */
  const limits = (source: string, scope: object = {}) =>
    limitsOf(returned(`${source}; return Reports`, scope))

  describe('on a class and its methods', () => {
    it('says nothing where it does not stand', () => {
      expect(limits('class Reports { list() {} @Limit(a) create() {} }')).toEqual({ create: a })
      expect(limits('class Reports { list() {} }')).toEqual({})
    })

    it('on a method replaces that of the class', () => {
      const found = limits(
        '@Limit(a) class Reports { list() {} @Limit(b) create() {} @Limit("login") log() {} }'
      )
      expect(found).toEqual({ list: a, create: b, log: 'login' })
    })

    it('gives methods that share the limit of their class the very same object, whenever it is asked for', () => {
      for (const marks of ['@Limit(a)', '@Limit(a) @Limit(b)']) {
        const Reports = returned(
          `${marks} class Reports { list() {} search() {} @Limit(c) create() {} }; return Reports`
        )
        const { list, search, create } = limitsOf(Reports)
        expect(search).toBe(list)
        expect(limitsOf(Reports).list).toBe(list)
        expect(limitsOf(new Reports()).list).toBe(list)
        expect(create).not.toBe(list)
      }
    })

    it('gives each method’s own limit an object of its own, also where several are given one', () => {
      const { list, search } = limits('class Reports { @Limit(a) list() {} @Limit(a) search() {} }')
      expect([list, search]).toEqual([a, a])
      expect(search).not.toBe(list)
    })

    it('tells a method’s own limit from its class’s, also where both are given one object', () => {
      const { list, search } = limits('@Limit(a) class Reports { list() {} @Limit(a) search() {} }')
      expect(search).not.toBe(list)
    })
  })

  describe('with limiters made of it', () => {
    it('has one for each limit, in a list for every method', () => {
      const Reports = returned(`
        @Limit(a)
        class Reports {
          list() {}
          search() {}
          @Limit(b) create() {}
          @Limit("login") login() {}
          @Limit.skip() health() {}
        }
        return Reports`)
      const made: unknown[] = []
      const found = limitsOf(Reports, (limit) => {
        made.push(limit)
        return made.length
      })
      expect(made).toEqual([a, b, 'login'])
      expect(found).toEqual({ list: [1], search: [1], create: [2], login: [3], health: [] })
    })

    it('has an empty list where nothing is said', () => {
      expect(limitsOf(returned('return class Reports { list() {} }'), rateLimit)).toEqual({ list: [] })
    })
  })

  describe('shorthand', () => {
    it('names key, limit, window, and the strategy if it is another', () => {
      const found = limits(
        `class Reports { @Limit('ip', 3, '1m') create() {} @Limit(['ip', 'user'], 5, 1000, 'gcra') list() {} }`
      )
      expect(found).toEqual({
        create: { key: 'ip', limit: 3, window: '1m', strategy: 'fixed-window' },
        list: { key: ['ip', 'user'], limit: 5, window: 1000, strategy: 'gcra' }
      })
    })

    it('takes a key function', () => {
      const key = () => 'k'
      expect(limits('class Reports { @Limit(key, 3, "1m") create() {} }', { key }).create).toMatchObject({
        key
      })
    })
  })

  describe('where a method leaves out what its class says', () => {
    it.each<[string, object, object]>([
      ['window', { limit: 2 }, { ...bucket, limit: 2 }],
      ['limit', { window: '1m' }, { ...bucket, window: '1m' }],
      ['limit and window', { key: 'user' }, { ...bucket, key: 'user' }],
      ['window, as undefined', { limit: 2, window: undefined }, { ...bucket, limit: 2 }],
      ['nothing of its rule', { limit: 2, window: '1m' }, { limit: 2, window: '1m' }],
      ['a rule, for several', { limits: [a, b] }, { limits: [a, b] }]
    ])('it inherits what belongs to the rule: %s', (_left, own, expected) => {
      const found = limits('@Limit(bucket) class Reports { @Limit(own) list() {} }', { own })
      expect(found.list).toEqual(expected)
    })

    it('it always inherits settings', () => {
      const settings = { key: 'user', headers: 'draft-11', statusCode: 503, now: () => 7 }
      const found = limits(
        `@Limit({ ...bucket, ...settings }) class Reports {
          @Limit(a) list() {}
          @Limit({ key: 'ip', statusCode: undefined }) create() {}
          @Limit(a) @Limit(b) both() {}
        }`,
        { settings }
      )
      expect(found.list).toEqual({ ...settings, ...a })
      expect(found.create).toEqual({ ...bucket, ...settings, key: 'ip' })
      expect(found.both).toEqual({ ...settings, limits: [a, b] })
    })

    it('it inherits nothing of a class that names a policy', () => {
      expect(limits('@Limit("api") class Reports { @Limit({ limit: 2 }) list() {} }').list).toEqual({
        limit: 2
      })
    })

    it('it cannot be one of several rules that the class says', () => {
      const { list } = limits('@Limit(a) @Limit(b) class Reports { @Limit({ limit: 2 }) list() {} }')
      expect(() => rateLimit(list as never)).toThrow(badOption('`limit`'))
    })
  })

  describe('skip', () => {
    it('lifts the limit of a method or a class', () => {
      const found = limits('@Limit(a) class Reports { list() {} @Limit.skip() health() {} }')
      expect(found).toEqual({ list: a, health: false })
      expect(limits('@Limit.skip(true) class Reports { live() {} ready() {} }')).toEqual({
        live: false,
        ready: false
      })
    })

    it('of a class is undone for a method by skip(false), and by a limit of its own', () => {
      const found = limits(
        `@Limit.skip() @Limit(a) class Reports {
          list() {}
          @Limit.skip(false) create() {}
          @Limit(b) search() {}
          @Limit.skip() health() {}
        }`
      )
      expect(found).toEqual({ list: false, create: a, search: b, health: false })
    })

    it('undone where nothing is limited says nothing', () => {
      expect(limits('@Limit.skip() class Reports { @Limit.skip(false) list() {} }')).toEqual({})
      expect(limits('@Limit(a) class Reports { @Limit.skip(false) list() {} }')).toEqual({ list: a })
    })
  })

  it.each(['limit', 'window'])('needs no %s to be noted; the limiter that is made of it does', (name) => {
    const own = { ...a, [name]: undefined }
    const { list } = limits('class Reports { @Limit(own) list() {} }', { own })
    expect(() => rateLimit(list as never)).toThrow(badOption(`\`${name}\``))
  })

  it.each<[string, unknown[]]>([
    ['nothing', []],
    ['undefined', [undefined]],
    ['null', [null]],
    ['a number', [5]],
    ['true', [true]],
    ['an empty name', ['']]
  ])('refuses %s', (_what, given) => {
    expect(() => limits('class Reports { @Limit(...given) list() {} }', { given })).toThrow(
      badOption('@Limit')
    )
  })

  it('refuses a method that is skipped and limited', () => {
    expect(() => limits('class Reports { @Limit.skip() @Limit(a) list() {} }')).toThrow(
      naming('HEADGATE_MISUSE', 'Reports.list')
    )
  })

  it.each([null, 'yes', 0, {}])('refuses skip(%j)', (given) => {
    expect(() => limits('class Reports { @Limit.skip(given) list() {} }', { given })).toThrow(
      badOption('`skip`')
    )
  })
})
