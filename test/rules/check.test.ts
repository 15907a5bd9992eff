import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildSync } from 'esbuild'
import { afterAll, describe, expect, it } from 'vitest'
import { run } from '../../src/cli/run.js'

const folder = mkdtempSync(join(tmpdir(), 'headgate-check-'))
afterAll(() => rmSync(folder, { recursive: true }))

function headgate(...args: readonly string[]) {
  const said: string[] = []
  const failed: string[] = []
  const code = run(args, { say: (line) => void said.push(line), fail: (line) => void failed.push(line) })
  const short = (line: string) => line.replaceAll(`${folder}/`, '')
  return { code, said: said.map(short), failed: failed.map(short) }
}

/** The command as a file that Node runs. */
function built(): string {
  const outfile = join(folder, 'dist/cli/main.cjs')
  if (!existsSync(outfile))
    buildSync({ entryPoints: ['src/cli/main.ts'], bundle: true, platform: 'node', format: 'cjs', outfile })
  return outfile
}

function file(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const right = file(
  'limits.yaml',
  `- match: { method: POST, path: /login }
  limit: 5
  window: 15m
  strategy: sliding-log
- match: { path: '/api/*', header: { x-plan: [pro, team], x-beta: false } }
  limits:
    - { limit: 10, window: 1s }
    - { limit: 1000, window: 1h, strategy: token-bucket, burst: 2000 }
  key: [user, 'header:x-tenant', path]
  cost: 2
- match: { route: '/reports/:id', user: true }
  concurrency: 5
  queue: 10
- match: { path: /health }
  limit: false
- match: { address: [10.0.0.0/8, 192.0.2.7] }
  limit: 0
- limit: 100
  window: 1d
  shadow: true
  countOnly: failures
`
)

describe('headgate check', () => {
  it('explains each rule in a sentence', () => {
    expect(headgate('check', right)).toEqual({
      code: 0,
      failed: [],
      said: [
        'limits.yaml:1: POST /login, for each address: 5 requests in 15 minutes (sliding-log), then 429.',
        'limits.yaml:5: /api/* with x-plan pro or team without x-beta, for each user, value of x-tenant and path: 10 units in a second, and 1000 units in an hour (token-bucket, burst 2000), 2 for each request, then 429.',
        'limits.yaml:11: the route /reports/:id of a user, for each address: 5 requests in flight (10 may wait), then 429.',
        'limits.yaml:14: /health: not limited.',
        'limits.yaml:16: Every request from 10.0.0.0/8 or 192.0.2.7: always 429.',
        'limits.yaml:18: Every request, for each address: 100 requests in a day, failures alone, then it is noted, and nobody is denied.',
        'limits.yaml: 6 rules are right.'
      ]
    })
  })

  it('explains what limits have of their own, the calendar, delays and bans', () => {
    const more = file(
      'more.yaml',
      `- limits:
    - { limit: 10, window: 1s, key: user }
    - { limit: 900, window: 1m, cost: 5 }
    - { limit: 2, window: 1h, shadow: true }
- { match: { path: /a }, limit: 5000, window: month, timeZone: Europe/Berlin, startsOn: 15 }
- { limit: 20, window: 1m, delay: { after: 5, step: 500ms }, ban: { after: 3, for: 1h } }
`
    )
    expect(headgate('check', more)).toMatchObject({
      failed: [expect.stringContaining('never decides'), expect.stringContaining('never decides')],
      said: [
        'more.yaml:1: Every request, for each address: 10 requests in a second for each user, and 900 units in a minute, 5 for each request, and 2 requests in an hour (only watched), then 429.',
        'more.yaml:5: /a, for each address: 5000 requests each month of the calendar, from day 15 on in Europe/Berlin, then 429.',
        'more.yaml:6: Every request, for each address: 20 requests in a minute (each beyond 5 held 500 milliseconds longer), then 429; a ban of an hour after 3 denials.',
        'more.yaml: 3 rules are right.'
      ]
    })
  })

  it('prints what is wrong as compilers do, and goes on with the next file', () => {
    const wrong = file('wrong.yaml', '- { limit: 0.5, windw: 1s }\n')
    const { code, failed, said } = headgate('check', wrong, join(folder, 'gone.yaml'), right, '--quiet')
    expect([code, said]).toEqual([1, ['limits.yaml: 6 rules are right.']])
    expect(failed).toEqual([
      'wrong.yaml:1:12: `limit` is 0.5: give a whole number, 0 to deny, or false to limit nothing',
      'wrong.yaml:1:17: `windw` is no option of a rule: did you mean `window`?',
      expect.stringMatching(/^gone.yaml:1:1: the file cannot be read: ENOENT/)
    ])
  })

  it('warns of rules that never decide, and of what is hardly meant', () => {
    const odd = file(
      'odd.yaml',
      `- match: { path: '/api/*' }
  limit: 5
  window: 60
- match: { method: GET, path: [/api/v1/:id, /api] }
  limit: 1
  window: 1s
- match: { path: /other }
  rules:
    - { limit: 1, window: 1s }
    - { limit: 2, window: 1s, countDenied: true }
- limit: 7
  window: 1s
`
    )
    const { code, failed } = headgate('check', odd)
    expect(code).toBe(0)
    expect(failed).toEqual([
      expect.stringMatching(/^odd.yaml:3:11: warning: `window: 60` is 60 milliseconds/),
      'odd.yaml:4:3: warning: the rule never decides: that of line 1 holds for all of its requests, and comes first',
      expect.stringMatching(/^odd.yaml:10:7: warning: `countDenied` of the rule does nothing/),
      'odd.yaml:10:7: warning: the rule never decides: that of line 9 holds for all of its requests, and comes first'
    ])
    expect(headgate('check', '--strict', odd).code).toBe(1)
  })

  it('does not warn where all rules decide', () => {
    const all = file(
      'all.yaml',
      'match: all\nrules:\n  - { limit: 7, window: 1s }\n  - { limit: 8, window: 1s, match: { path: /a } }\n'
    )
    expect(headgate('check', all).failed).toEqual([])
  })

  it.each([
    [['chek', 'a'], "'chek' is no command: did you mean check?"],
    [['check'], 'name the files to check.'],
    [['check', '--quite', 'a'], '--quite is no flag: did you mean --quiet?'],
    [['check', '--quiet=1', 'a'], '--quiet takes no value.'],
    [['schema', 'extra', 'args'], 'schema takes nothing, and extra args is given.']
  ])('says what is wrong with the call %j', (args, message) => {
    expect(headgate(...args)).toEqual({
      code: 2,
      said: [],
      failed: [`headgate: ${message} See headgate --help.`]
    })
  })

  it.each([
    ['schema', ['schema'], 0],
    ['check', ['check', right], 0],
    ['check of what is wrong', ['check', file('odd-limit.yaml', '- { limit: 0.5 }'), right], 1]
  ])('ends quietly where nobody reads: %s', async (_name, args, expected) => {
    const child = spawn(process.execPath, [built(), ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
    // It has closed long before the process writes.
    child.stdout.destroy()
    let failed = ''
    child.stderr.on('data', (data) => {
      failed += data
    })
    const [code] = await once(child, 'close')
    expect(code).toBe(expected)
    expect(failed).not.toMatch(/EPIPE|\n\s+at /)
  })

  it('says how it is called', () => {
    expect(headgate('--help').said[0]).toMatch(/^headgate check FILE…/)
    expect(headgate('check', '-h').code).toBe(0)
    expect(headgate().code).toBe(2)
  })
})
