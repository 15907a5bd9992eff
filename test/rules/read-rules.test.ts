import express from 'express'
import request from 'supertest'
import { describe, expect, it } from 'vitest'
import { rateLimit } from '../../src/express/index.js'
import { parseRules, RulesError } from '../../src/rules/index.js'
import { forgetWarnings, turns } from '../http/behaviour/harness.js'

function problemsOf(text: string): readonly string[] {
  try {
    parseRules(text, { file: 'limits.yaml' })
    return []
  } catch (error) {
    expect(error).toBeInstanceOf(RulesError)
    expect((error as Error).message.split('\n')).toHaveLength((error as RulesError).problems.length)
    return (error as RulesError).problems.map(({ line, column, message }) => `${line}:${column} ${message}`)
  }
}

describe('what is wrong with a file', () => {
  it('is told all at once, with its place, its option and the fix', () => {
    const text = `
- name: login
  match: { metod: POST, address: 10.0.0.0/33 }
  limit: '5'
  window: 15 parsecs
- match:
    path: /a/*/b
  limit: 5
  window: 1m
  strategy: sliding-lgo
- { limit: 7, window: 1m, burst: 9 }
- keyGenerator: ip
  limit: 3
  window: 1m
- rules:
    - limits:
        - { limit: 1, window: 1s }
        - { limit: many, window: 1s }
`
    expect(problemsOf(text)).toEqual([
      '3:12 `metod` is no option of `match`: did you mean `method`?',
      '4:10 `limit` is "5": write it as a number, 5, not as a text',
      expect.stringMatching(/^5:11 `window` is "15 parsecs": 'parsecs' is no unit/),
      '7:11 `path` is "/a/*/b": `*` may only stand at the end, as in \'/api/*\'',
      expect.stringMatching(
        /^10:13 `strategy` is 'sliding-lgo', which is not defined: did you mean 'sliding-log'\?/
      ),
      "11:34 `burst` is 9: strategy 'fixed-window' has no meaning for it; leave it out",
      '12:3 `keyGenerator` is no option of a rule: did you mean `key`?',
      '18:20 `limit` is "many": give a whole number of at least 1'
    ])
  })

  it.each([
    ['', ["1:1 the file says nothing: give a list of rules, such as [{ limit: 100, window: '1m' }]"]],
    ['- { limit: 1, window: 1s, limit: 2 }', ['1:27 this stands here already, before: keep one of both']],
    ['{ "rules": [{ "limit": 1 "window": 2 }] }', [expect.stringContaining('1:')]],
    ['- &a [*a]', [expect.stringContaining('1:')]],
    [
      '- { limit: 1, window: 1s }\n- { window: 1s, limit: 1 }',
      ['2:3 the rule says the same as that of line 1: leave one of them out']
    ],
    ['- { limit: false }', ['1:1 no rule limits anything: each says `limit: false`']],
    [
      '- { limit: 1, window: 1s, match: { method: psot } }',
      ['1:44 `method` is "psot", which is no method that Node reads: did you mean \'POST\'?']
    ],
    [
      "- { limit: 1, window: 1s, match: { method: [get, M-SEARCH, '*', FROBNICATE] } }",
      [
        '1:60 `method` is "*", which is no method that Node reads: leave `method` out, and the rule holds for every method',
        "1:65 `method` is \"FROBNICATE\", which is no method that Node reads: give one of node:http's METHODS, such as 'POST'"
      ]
    ],
    ['- ? [a]\n  : 1\n', [expect.stringContaining('1:')]],
    [
      '---\n- { limit: 1, window: 1s }\n# more\n---\n- { limit: many }\n',
      ['4:1 a second document begins here: write one document a file, or all rules in one list']
    ],
    [
      '- { limit: 1, window: 1s }\n...\n%YAML 1.2\n---\n',
      [expect.stringMatching(/^4:1 a second document begins here/)]
    ]
  ])('is told of %j', (text, expected) => {
    expect(problemsOf(text).slice(0, expected.length)).toEqual(expected)
  })

  it('is found in JSON with tabs', () => {
    expect(problemsOf('{\n\t"rules": [\n\t\t{ "limit": 0.5 }\n\t]\n}\n')).toEqual([
      expect.stringMatching(/^3:14 `limit` is 0.5/)
    ])
  })

  it.each([
    '---\n- { limit: 1, window: 1s }\n',
    '%YAML 1.2\n---\n- { limit: 1, window: 1s }\n...\n# the end\n'
  ])('is none where one document says where it begins and ends: %j', (text) => {
    expect(problemsOf(text)).toEqual([])
  })

  it('has its place behind a byte order mark', () => {
    expect(problemsOf('\uFEFF- limit: 1\n  window: 1s\n- limit: 2\n  window: 1s\n')).toEqual([])
    expect(problemsOf('\uFEFF- limit: no\n  window: 1s\n- limit: no\n  window: 1s\n')).toEqual([
      expect.stringMatching(/^1:10 `limit`/),
      expect.stringMatching(/^3:10 `limit`/)
    ])
    expect(problemsOf('\uFEFF[{ "limit": 1, "window": "1s" }]')).toEqual([])
  })

  it('takes aliases of YAML', () => {
    expect(
      problemsOf(
        '- &a { match: { path: /a }, limit: 1, window: 1s }\n- { match: { path: /b }, limits: [&b { limit: 1, window: 1s }] }'
      )
    ).toEqual([])
    expect(
      problemsOf(
        '- match: &m { path: [/a] }\n  limit: 1\n  window: 1s\n- match: *m\n  limit: 2\n  window: x\n'
      )
    ).toEqual([expect.stringMatching(/^6:11 /)])
  })
})

describe('rules in options', () => {
  const rules = parseRules('- { limit: 1, window: 1s }')

  it.each([
    [{ rules, limit: 1, window: '1s' }, '`limit` is 1: it stands beside `rules`'],
    [{ rules: 'limits.yaml' }, "give what `loadRules('limits.yaml')` of headgate/rules returns"],
    [{ rules, kye: 'ip' }, '`kye` is no option of rateLimit: did you mean `key`?'],
    [{ rules: null }, '`rules` is null']
  ])('are refused: %j', (options, message) => {
    expect(() => rateLimit(options as never)).toThrow(message)
  })

  it('say once that a route is not known yet', async () => {
    forgetWarnings()
    const heard: { code?: string; message: string }[] = []
    const hear = (warning: Error) => void heard.push(warning)
    process.on('warning', hear)
    const app = express()
    app.use(rateLimit({ rules: parseRules("- { match: { route: '/users/:id' }, limit: 1, window: 1s }") }))
    app.get('/users/:id', (_request, response) => void response.end('ok'))
    for (let i = 0; i < 3; i++) expect((await request(app).get('/users/7')).status).toBe(200)
    await turns()
    process.off('warning', hear)
    expect(heard.map(({ code }) => code)).toEqual(['HEADGATE_ROUTE_UNKNOWN'])
  })

  it('are looked up, reset and blocked by hand', async () => {
    const limit = rateLimit({
      rules: parseRules(
        "- { match: { path: /a, address: loopback }, limit: 2, window: 1h }\n- { limit: 5, window: 1h, key: 'header:x-key' }"
      )
    })
    const app = express()
    app.use(limit, (asked, response) => void response.end(limit.limiter.keyOf(asked)))
    const get = (path: string) => request(app).get(path).set('x-key', 'ada')
    expect((await get('/a')).text).toBe('127.0.0.1')
    expect((await get('/b')).text).toBe('ada')
    await get('/a')
    expect((await get('/a')).status).toBe(429)
    expect(limit.limiter.reset({ ip: '127.0.0.1' })).toBe(true)
    expect((await get('/a')).status).toBe(200)
    expect(limit.limiter.size()).toBe(2)
    limit.limiter.clear()
    expect(limit.limiter.size()).toBe(0)
  })
})
