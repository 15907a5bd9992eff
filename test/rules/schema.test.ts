import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { policyOptions } from '../../src/core/policy-options.js'
import { parseRules } from '../../src/rules/index.js'
import { policyNames } from '../../src/rules/policy-table.js'
import { rulesSchema } from '../../src/rules/rule-options.js'

const shipped = JSON.parse(readFileSync(new URL('../../limits.schema.json', import.meta.url), 'utf8'))
const validate = new Ajv2020({ strict: true, allowUnionTypes: true, strictRequired: false }).compile(shipped)

const isRight = (text: string): boolean => {
  try {
    parseRules(text)
    return true
  } catch {
    return false
  }
}

const right = [
  '- { limit: 5, window: month, timeZone: Europe/Berlin, startsOn: 15 }',
  '- { limit: 5, window: week, startsOn: sunday }',
  '- { limit: 5, window: 1m, delay: { after: 2, step: 500ms, max: 20s, places: 10 } }',
  '- { limit: 5, window: 1m, ban: { after: 2, within: 10m, for: 1h, growth: 2, max: 1d, forget: 1d } }',
  "- { limits: [{ limit: 5, window: 1s, key: user, cost: 2, shadow: true }, { limit: 5, window: 1s, key: [ip, 'header:x-a'] }] }",
  "[{ limit: 1, window: '1s' }]",
  '- { limit: 1, window: 1000 }',
  '- { limit: 1, window: 1 minute, strategy: gcra, burst: 5 }',
  '- { limit: false, match: { path: / } }\n- { limit: 1, window: 1.5s }',
  '- { limit: 0 }',
  '- { limit: 0, window: 1h, name: closed }',
  '- { concurrency: 5, queue: 3, maxWait: 2s }',
  '- { concurrency: { adaptive: aimd, min: 2, tolerance: 1.5 } }'.replace(', tolerance: 1.5', ''),
  '- limits: [{ limit: 1, window: 1s }, { limit: 5, window: 1h, align: first-request }, { concurrency: 2 }]',
  "{ match: all, rules: [{ limit: 1, window: '1s', key: [ip, 'header: X-Key', path, method, route, user] }] }",
  '{ "$schema": "./x.json", "match": "first", "rules": [{ "limit": 1, "window": "1s" }] }',
  '- { limit: 5, window: 1s, cost: 2, shadow: true, countOnly: failures, aborted: failure }',
  '- { limit: 5, window: 1s, strategy: sliding-window, countDenied: true, block: 10m, statusCode: 503, message: Later }',
  '- { strategy: leaky-bucket, limit: 5, window: 1s, burst: 3, delayAfter: 1 }',
  '- match: { method: [get, POST], path: [/a/:id, /b/*, /], route: /a/:id }\n  limit: 1\n  window: 1s',
  '- match: { header: { x-a: b, X-C: [d, e], x-f: true, x-g: false } }\n  limit: 1\n  window: 1s',
  '- match: { user: [ada, 7], address: [10.0.0.0/8, "::1", loopback] }\n  limit: 1\n  window: 1s',
  '- match: { user: true }\n  rules:\n    - { limit: 1, window: 1s, match: { user: 7 } }\n    - { limit: 2, window: 1s }',
  '- key: user\n  limit: 9\n  window: 1s\n  rules: { match: all, rules: [{ limit: 1, window: 1s }] }'
]

/** Wrong in a way that a schema can say. */
const wrong = [
  '- { limit: 1, window: fortnight }',
  '- { limit: 1, window: 1s, startsOn: 32 }',
  '- { limit: 1, window: 1s, delay: { after: 1 } }',
  '- { limit: 1, window: 1s, ban: { after: 1 } }',
  '- { limits: [{ limit: 1, window: 1s, countOnly: failures }] }',
  '7',
  'text',
  '[]',
  '{}',
  '{ rules: [] }',
  '{ match: some, rules: [{ limit: 1, window: 1s }] }',
  '{ rules: [{ limit: 1, window: 1s }], rule: 1 }',
  '[1]',
  '- {}',
  '- { name: a }',
  '- { limit: 1 }',
  '- { window: 1s }',
  '- { limit: -1, window: 1s }',
  '- { limit: 1.5, window: 1s }',
  "- { limit: '5', window: 1s }",
  '- { limit: true, window: 1s }',
  '- { limit: 1, window: 0 }',
  '- { limit: 1, window: 60sec. }',
  "- { limit: 1, window: '60' }",
  '- { limit: 1, window: true }',
  '- { limit: null, window: 1s }',
  '- { limit: 1, window: 1s, key: cookie }',
  '- { limit: 1, window: 1s, key: [] }',
  "- { limit: 1, window: 1s, key: 'header:' }",
  "- { limit: 1, window: 1s, key: 'header:a b' }",
  '- { limit: 1, window: 1s, cost: 0 }',
  '- { limit: 1, window: 1s, shadow: yes }',
  '- { limit: 1, window: 1s, align: never }',
  '- { limit: 1, window: 1s, statusCode: 200 }',
  '- { limit: 1, window: 1s, countOnly: all }',
  "- { limit: 1, window: 1s, name: '' }",
  '- { limit: 1, window: 1s, name: ä }',
  '- { limit: 1, window: 1s, strategy: 5 }',
  '- { limit: 1, window: 1s, Limit: 1 }',
  '- { limit: 1, window: 1s, concurrency: 1 }',
  '- { limit: 1, window: 1s, limits: [{ limit: 1, window: 1s }] }',
  '- { limits: [] }',
  '- { limits: [{ limit: 1 }] }',
  '- { limits: [{ limit: 0, window: 1s }] }',
  '- { limits: [{ name: a }] }',
  '- { limits: [{ limit: 1, window: 1s, concurrency: 2 }] }',
  '- { concurrency: 0 }',
  '- { concurrency: { adaptive: magic } }',
  '- { concurrency: { min: 1 } }',
  '- { concurrency: { adaptive: aimd, most: 1 } }',
  '- { limit: 1, window: 1s, match: /login }',
  '- { limit: 1, window: 1s, match: { paths: /login } }',
  '- { limit: 1, window: 1s, match: { path: login } }',
  '- { limit: 1, window: 1s, match: { path: "/login?a" } }',
  '- { limit: 1, window: 1s, match: { path: [] } }',
  '- { limit: 1, window: 1s, match: { method: "GET POST" } }',
  '- { limit: 1, window: 1s, match: { method: true } }',
  '- { limit: 1, window: 1s, match: { header: x-a } }',
  '- { limit: 1, window: 1s, match: { header: {} } }',
  '- { limit: 1, window: 1s, match: { header: { x-a: 1 } } }',
  '- { limit: 1, window: 1s, match: { header: { "x a": b } } }',
  '- { limit: 1, window: 1s, match: { user: 1.5 } }',
  '- { limit: 1, window: 1s, match: { address: 10 } }',
  '- { rules: [] }',
  '- { rules: { match: first } }',
  '- { rules: [{ limit: 1 }] }'
]

/** Wrong in a way that takes more than a schema to tell. */
const subtle = [
  '- { limit: 1, window: 1 parsec }',
  '- { limit: 1, window: 1s, strategy: gone }',
  '- { limit: 1, window: 1s, burst: 5 }',
  '- { limit: 1, window: 1s, match: { address: 10.0.0.0/40 } }',
  "- { limit: 1, window: 1s, match: { path: '/a/*/b' } }",
  '- { limit: 1, window: 1s, match: { method: PSOT } }',
  "- { limit: 1, window: 1s, match: { method: [GET, '*'] } }",
  '- { limit: 1, window: 1s, cost: 2 }',
  '- { limit: 1, window: 1s, aborted: failure }',
  '- { limits: [{ limit: 1, window: 1s }, { limit: 1, window: 1s }] }',
  '- { limit: false }'
]

describe('the JSON Schema', () => {
  it('that is shipped is the one of the table that validates (`npm run schema` writes it)', () => {
    expect(shipped).toEqual(JSON.parse(JSON.stringify(rulesSchema())))
  })

  it('knows each option of a policy', () => {
    expect([...policyNames].sort()).toEqual(Object.keys(policyOptions).sort())
  })

  it.each(right)('takes what the loader takes: %j', (text) => {
    expect([isRight(text), validate(parse(text)), validate.errors]).toEqual([true, true, null])
  })

  it.each(wrong)('refuses what the loader refuses: %j', (text) => {
    expect([isRight(text), validate(parse(text))]).toEqual([false, false])
  })

  it.each(subtle)('leaves the rest to the loader: %j', (text) => {
    expect([isRight(text), validate(parse(text))]).toEqual([false, true])
  })
})
