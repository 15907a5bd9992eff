import { describe, expect, it } from 'vitest'
import { limitsOf } from '../../src/index.js'
import { naming } from '../support/errors.js'
import { evaluated, kinds } from './decorated.js'

const a = { limit: 1, window: '1s' }
const b = { limit: 2, window: '2s', strategy: 'gcra' }
const c = { limit: 3, window: '3s', name: 'hour' }

describe.each(kinds)('several @Limit on one target, %s decorators', (kind) => {
  const limits = (source: string, scope: object = {}) =>
    limitsOf(evaluated(kind, `${source}; return Reports`, { a, b, c, ...scope }))
  /** What limits a method on which these stand, in this order. */
  const together = (...said: readonly unknown[]) =>
    limits(`class Reports { ${said.map((_, i) => `@Limit(said[${i}])`).join(' ')} list() {} }`, { said }).list

  it('are tiers, in the order in which they are written', () => {
    expect(together(a, b, c)).toEqual({ limits: [a, b, c] })
    expect(together(c, a)).toEqual({ limits: [c, a] })
    expect(limits('@Limit(b) @Limit(a) class Reports { list() {} }').list).toEqual({ limits: [b, a] })
  })

  it('on a method replace all of the class', () => {
    const found = limits('@Limit(a) @Limit(b) class Reports { list() {} @Limit(c) @Limit(b) create() {} }')
    expect(found).toEqual({ list: { limits: [a, b] }, create: { limits: [c, b] } })
  })

  it('may be lists of tiers', () => {
    expect(together({ limits: [a, b] }, c)).toEqual({ limits: [a, b, c] })
    expect(together(c, { limits: [b] }, { limits: [a] })).toEqual({ limits: [c, b, a] })
  })

  it('have their settings together', () => {
    const found = together({ ...a, key: 'user' }, { ...b, headers: 'draft-11' }, { ...c, key: 'user' })
    expect(found).toEqual({ key: 'user', headers: 'draft-11', limits: [a, b, c] })
  })

  it('agree on a list that is written twice', () => {
    const allow = () => ['10.0.0.0/8', 'loopback']
    expect(together({ ...a, allow: allow() }, { ...b, allow: allow() })).toEqual({
      allow: allow(),
      limits: [a, b]
    })
  })

  it('do not disagree where one leaves an option undefined', () => {
    expect(together({ ...a, key: undefined }, { ...b, key: 'user' })).toEqual({ key: 'user', limits: [a, b] })
    expect(together({ ...a, key: 'user' }, { ...b, key: undefined })).toEqual({ key: 'user', limits: [a, b] })
  })

  describe('that disagree are refused', () => {
    const [one, other] = [() => 'k', () => 'k']
    it.each<[string, object, object, string[]]>([
      ['keys', { ...a, key: 'ip' }, { ...b, key: 'user' }, ['`key`', 'ip', 'user']],
      ['statuses', { ...a, statusCode: 429 }, { ...b, statusCode: 503 }, ['`statusCode`', '429', '503']],
      ['functions', { ...a, key: one }, { ...b, key: other }, ['`key`']],
      ['lists', { ...a, allow: ['10.0.0.1'] }, { ...b, allow: ['10.0.0.2'] }, ['`allow`']],
      ['lists with functions', { ...a, key: ['ip', one] }, { ...b, key: ['ip', other] }, ['`key`']]
    ])('%s', (_what, first, second, named) => {
      expect(() => together(first, second)).toThrow(naming('HEADGATE_BAD_OPTION', 'Reports.list', ...named))
    })
  })

  it.each<[string, unknown, unknown]>([
    ['a policy’s name', a, 'login'],
    ['two names of policies', 'login', 'api'],
    ['a rule beside a list of rules', { limits: [a], limit: 5 }, b]
  ])('refuse %s', (_what, first, second) => {
    expect(() => together(first, second)).toThrow(naming('HEADGATE_BAD_OPTION', 'Reports.list'))
  })
})
