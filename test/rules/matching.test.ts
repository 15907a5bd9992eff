import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { readRules } from '../../src/rules/read-rules.js'
import { type Asked, factsOf } from './facts.js'

/** A rule as a file has it. */
interface Written {
  readonly name?: string
  readonly match?: Readonly<Record<string, unknown>>
  readonly limit?: number | false
  readonly window?: string
  readonly rules?: Group | readonly Written[] | undefined
}

interface Group {
  readonly match: 'first' | 'all'
  readonly rules: readonly Written[]
}

/** The names of the rules that hold, by the definition: each rule is asked in turn, from the top. */
function scanned(group: Group, asked: Asked): readonly string[] {
  const found: string[] = []
  for (const rule of group.rules) {
    const mine = heldBy(rule, asked, group.match)
    found.push(...mine)
    if (mine.length > 0 && group.match === 'first') return found
  }
  return found
}

function heldBy(rule: Written, asked: Asked, outer: Group['match']): readonly string[] {
  const { match = {}, rules } = rule
  if (!Object.entries(match).every(([kind, said]) => isSo(kind, said, asked))) return []
  const inner = rules === undefined ? null : 'match' in rules ? rules : { match: outer, rules }
  const within = inner === null ? [] : scanned(inner, asked)
  const own = rule.limit === undefined ? [] : [rule.name!]
  return inner?.match === 'first' && within.length > 0 ? within : [...within, ...own]
}

function isSo(kind: string, said: unknown, asked: Asked): boolean {
  const any = (test: (one: string) => boolean) => [said].flat().some((one) => test(one as string))
  const { method = 'GET', path = '/', route, headers = {}, user, address } = asked
  const is = (wanted: unknown, value: string | undefined) =>
    typeof wanted === 'boolean' ? (value !== undefined) === wanted : [wanted].flat().includes(value)
  if (kind === 'method') return any((one) => one === method || (one === 'GET' && method === 'HEAD'))
  if (kind === 'route') return any((one) => one === route)
  if (kind === 'user') return is(said, user as string | undefined)
  if (kind === 'header') return Object.entries(said as object).every(([name, one]) => is(one, headers[name]))
  if (kind === 'address') return any((one) => address!.startsWith(one.replace('0.0.0/8', '')))
  return any((one) => patternOf(one).test(path))
}

function patternOf(path: string): RegExp {
  const text = path.replace(/:\w+/g, '[^/]+')
  return new RegExp(`^${text.endsWith('/*') ? `${text.slice(0, -2)}(/.*)?` : text}$`)
}

const names = ['a', 'b', 'c']
const word = fc.constantFrom(...names)
const some = <T>(one: fc.Arbitrary<T>) => fc.oneof(one, fc.uniqueArray(one, { minLength: 1, maxLength: 3 }))
const segment = fc.oneof({ weight: 3, arbitrary: word }, { weight: 1, arbitrary: fc.constant(':x') })
const pathOf = (part: fc.Arbitrary<string>) =>
  fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => `/${parts.join('/')}`)
const pattern = fc.oneof(
  pathOf(segment),
  pathOf(segment).map((path) => `${path}/*`),
  fc.constantFrom('/', '/*')
)
const methods = fc.constantFrom('GET', 'POST', 'HEAD')
const valueOrThere = fc.oneof({ weight: 3, arbitrary: some(word) }, { weight: 1, arbitrary: fc.boolean() })
const match = fc.record(
  {
    method: some(methods),
    route: some(pathOf(segment)),
    path: some(pattern),
    header: fc.dictionary(fc.constantFrom('x-a', 'x-b'), valueOrThere, { minKeys: 1, maxKeys: 2 }),
    user: valueOrThere,
    address: some(fc.constantFrom('10.0.0.0/8', '11.0.0.0/8'))
  },
  { requiredKeys: [] }
)
const { group } = fc.letrec<{ group: Group; rule: Written }>((tie) => ({
  group: fc.record({
    match: fc.constantFrom('first' as const, 'all' as const),
    rules: fc.array(tie('rule'), { minLength: 1, maxLength: 5 })
  }),
  rule: fc
    .record(
      {
        match: fc.oneof({ weight: 4, arbitrary: match }, { weight: 1, arbitrary: fc.constant({}) }),
        limit: fc.constantFrom(1, 2, false as const),
        rules: fc.oneof(
          { depthSize: 'small', withCrossShrink: true },
          fc.constant(undefined),
          fc.oneof(
            tie('group'),
            tie('group').map(({ rules }) => rules)
          )
        )
      },
      { requiredKeys: ['match'] }
    )
    .map((rule) => (rule.rules === undefined && rule.limit === undefined ? { ...rule, limit: 1 } : rule))
}))
const asked: fc.Arbitrary<Asked> = fc.record(
  {
    method: methods,
    path: fc.oneof(pathOf(word), fc.constant('/')),
    route: pathOf(segment),
    headers: fc.dictionary(fc.constantFrom('x-a', 'x-b'), word),
    user: word,
    address: fc.constantFrom('10.1.2.3', '11.1.2.3', '12.1.2.3')
  },
  { requiredKeys: ['method', 'path', 'address'] }
)

/** Gives each rule a name of its own, so that no two say the same; without what is undefined. */
function numbered({ match: mode, rules }: Group, count = { at: 0 }): Group {
  return {
    match: mode,
    rules: rules.map(({ rules: within, limit, ...rule }) => ({
      name: `r${count.at++}`,
      ...(Object.keys(rule.match ?? {}).length === 0 ? {} : rule),
      ...(limit === undefined ? {} : { limit }),
      ...(limit ? { window: '1s' } : {}),
      ...(within === undefined
        ? {}
        : 'match' in within
          ? { rules: numbered(within, count) }
          : { rules: numbered({ match: 'first', rules: within }, count).rules })
    }))
  }
}

describe('which rules hold', () => {
  it('is what asking each of them in turn comes to, whatever the index does', () => {
    let matched = 0
    fc.assert(
      fc.property(group, fc.array(asked, { minLength: 5, maxLength: 10 }), (random, requests) => {
        const written = numbered({ match: random.match, rules: [...random.rules, { limit: 9 }] })
        const { table } = readRules(stringify(written, { aliasDuplicateObjects: false }), 'random.yaml')
        for (const one of requests) {
          const found = table.match(factsOf(one)).map(({ label }) => /'(r\d+)'/.exec(label)![1])
          expect(found).toEqual(scanned(written, one))
          if (found.length > 1) matched++
        }
      }),
      { numRuns: 1500 }
    )
    expect(matched).toBeGreaterThan(300)
  })

  it.each([
    [
      '/login',
      [
        '/login',
        '/LOGIN',
        '/login/',
        '//login',
        '/%6Cogin',
        '/login?a=/x',
        '/login#b',
        'http://h/login',
        '//LOGIN?'
      ]
    ],
    ['/a/*', ['/a', '/a/', '/a/b', '/a/b/c', '/a\\b', '/A/%62?c', '/a/%2F']],
    ['/users/:id', ['/users/7', '/users/%2F', '/users/a%2fb/', '/users/ä']],
    ['/users/:id/posts', ['/users/7/posts']],
    ['/*', ['/', '/a', '', '?a', '/%E0%A4%A']],
    ['/sp ace'.replace(' ', '%20'), ['/sp%20ace', '/SP%20ACE/']]
  ])('by the path %j is the same however it is written', (path, urls) => {
    const { table } = readRules(JSON.stringify([{ match: { path }, limit: 1, window: '1s' }]), 'a.json')
    expect(urls.filter((url) => table.match(factsOf({ path: url })).length === 0)).toEqual([])
  })

  it.each([
    ['/login', ['/', '/login/x', '/log', '/a/login', '/login%2Fx', '/login%3Fx']],
    ['/a/*', ['/', '/ab', '/b/a', '/a%2Fb']],
    ['/users/:id', ['/users', '/users/', '/users/7/8', '/users/7/posts']]
  ])('by the path %j is not for others', (path, urls) => {
    const { table } = readRules(JSON.stringify([{ match: { path }, limit: 1, window: '1s' }]), 'a.json')
    expect(urls.filter((url) => table.match(factsOf({ path: url })).length > 0)).toEqual([])
  })

  it.each([
    [undefined, 'nobody'],
    [null, 'nobody'],
    [false, 'nobody'],
    ['', 'nobody'],
    ['ada', 'ada'],
    [0, 'zero'],
    [{ id: 'ada' }, 'ada'],
    [{ sub: 7 }, 'anybody']
  ])('by user: `request.user` of %j is %s', (user, expected) => {
    const says = (name: string, wanted: unknown) => ({
      name,
      match: { user: wanted },
      limit: 1,
      window: '1s'
    })
    const rules = [says('nobody', false), says('ada', 'ada'), says('zero', 0), says('anybody', true)]
    const { table } = readRules(JSON.stringify(rules), 'users.json')
    expect(table.match(factsOf({ user })).map(({ label }) => label)).toEqual([
      expect.stringContaining(`'${expected}'`)
    ])
  })

  it.each([{}, true, { id: '' }, Number.NaN])('by user is an error where it cannot be told: %j', (user) => {
    const { table } = readRules("- { match: { user: true }, limit: 1, window: '1s' }", 'users.yaml')
    expect(() => table.match(factsOf({ user }))).toThrow('without a usable `id` or `sub`')
  })
})
