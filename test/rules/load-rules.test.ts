import { mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import Fastify from 'fastify'
import { afterEach, describe, expect, it } from 'vitest'
import fastifyLimit from '../../src/fastify/index.js'
import { memoryStore } from '../../src/index.js'
import { type LoadedRules, type LoadRulesOptions, loadRules, RulesError } from '../../src/rules/index.js'
import { manualClock, timers, until } from '../http/behaviour/harness.js'

const folders: string[] = []
const loaded: LoadedRules[] = []

afterEach(() => {
  for (const rules of loaded.splice(0)) rules.close()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

function fileWith(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-rules-'))
  folders.push(folder)
  const file = join(folder, 'limits.yaml')
  writeFileSync(file, text)
  return file
}

function load(file: string, options?: LoadRulesOptions): LoadedRules {
  const rules = loadRules(file, options)
  loaded.push(rules)
  return rules
}

/** A server by these rules, and how many requests to a path are left after one more. */
async function server(rules: LoadedRules, options: object = {}) {
  const app = Fastify()
  await app.register(fastifyLimit, { rules, now: manualClock().read, ...options })
  for (const path of ['/a', '/b', '/c']) app.get(path, () => 'ok')
  return async (url: string) => {
    const { headers, statusCode } = await app.inject(url)
    return statusCode === 200 ? Number(headers['ratelimit-remaining'] ?? -1) : statusCode
  }
}

const rule = (path: string, limit: number) => `- { match: { path: ${path} }, limit: ${limit}, window: 1h }\n`

describe('reload', () => {
  it.each([
    ['a store for each rule', () => ({})],
    ['one store for all', () => ({ store: memoryStore() })]
  ])('keeps the counters of what says the same: %s', async (_name, options) => {
    const file = fileWith(rule('/a', 10) + rule('/b', 10))
    const rules = load(file)
    const left = await server(rules, options())
    expect([await left('/a'), await left('/a'), await left('/b'), await left('/c')]).toEqual([9, 8, 9, -1])
    // In another order, and written in another way.
    writeFileSync(
      file,
      `# new\n${rule('/b', 20)}- { window: 1h, limit: 10, match: { path: [/a] } }\n${rule('/c', 5)}`
    )
    expect(rules.reload()).toEqual({
      added: [`the rule of ${file}:2`, `the rule of ${file}:4`],
      removed: [`the rule of ${file}:2`],
      kept: 1
    })
    expect([await left('/a'), await left('/b'), await left('/c')]).toEqual([7, 19, 4])
    writeFileSync(file, rule('/b', 10))
    rules.reload()
    // A rule that comes back has forgotten.
    expect([await left('/a'), await left('/b')]).toEqual([-1, 9])
  })

  it('changes nothing where the file is wrong, or gone', async () => {
    const file = fileWith(rule('/a', 10))
    const rules = load(file)
    const left = await server(rules)
    expect(await left('/a')).toBe(9)
    writeFileSync(file, `${rule('/a', 20)}- { limit: many }\n`)
    expect(() => rules.reload()).toThrow(`${file}:2:12: \`limit\` is "many"`)
    rmSync(file)
    expect(() => rules.reload()).toThrow(RulesError)
    expect(await left('/a')).toBe(8)
  })

  it('changes nothing for anybody where one of several servers cannot take it', async () => {
    const file = fileWith(rule('/a', 10))
    const rules = load(file)
    const left = await server(rules)
    const other = await server(rules, { cost: 5 })
    writeFileSync(file, rule('/a', 4))
    expect(() => rules.reload()).toThrow('a limit admits at most 4 at once')
    expect([await left('/a'), await other('/a')]).toEqual([9, 5])
  })
})

describe('a path', () => {
  it('is looked up once, wherever the process goes later', async () => {
    const file = fileWith(rule('/a', 10))
    const before = process.cwd()
    const elsewhere = mkdtempSync(join(tmpdir(), 'headgate-rules-'))
    folders.push(elsewhere)
    writeFileSync(join(elsewhere, 'limits.yaml'), rule('/c', 1))
    try {
      process.chdir(dirname(file))
      const rules = load('limits.yaml', { watch: true })
      process.chdir(elsewhere)
      expect(rules.reload()).toEqual({ added: [], removed: [], kept: 1 })
      const first = rules.table
      writeFileSync(file, rule('/b', 20))
      await until(() => rules.table !== first)
      // Messages call it as the caller does.
      expect(rules.table.rules[0]!.label).toBe('the rule of limits.yaml:1')
      expect(rules.table.rules[0]!.options).toMatchObject({ limit: 20 })
    } finally {
      process.chdir(before)
    }
  })
})

describe('watch', () => {
  it('takes up a file that changes without a pause', async () => {
    const file = fileWith(rule('/a', 10))
    const rules = load(file, { watch: true })
    const first = rules.table
    let limit = 10
    const changed = () => {
      writeFileSync(file, rule('/a', ++limit))
      return rules.table !== first
    }
    await until(changed, 1900)
  })

  it.each<[string, (file: string, text: string) => void]>([
    ['is written', (file, text) => writeFileSync(file, text)],
    [
      'is replaced, as by editors',
      (file, text) => {
        writeFileSync(`${file}.swp`, text)
        renameSync(`${file}.swp`, file)
      }
    ],
    [
      'is removed and comes back',
      (file, text) => {
        unlinkSync(file)
        writeFileSync(file, text)
      }
    ]
  ])('takes up a file that %s', async (_name, change) => {
    const file = fileWith(rule('/a', 10))
    const before = timers()
    const rules = load(file, { watch: true })
    const first = rules.table
    change(file, rule('/a', 20))
    await until(() => rules.table !== first)
    const second = rules.table
    change(file, rule('/a', 30))
    await until(() => rules.table !== second)
    expect(rules.table.rules[0]!.options).toMatchObject({ limit: 30 })
    expect(timers()).toBeLessThanOrEqual(before)
  })

  it('takes up a file behind a link', async () => {
    const file = fileWith(rule('/a', 10))
    const link = join(folders[0]!, '..', `${folders[0]!.split('/').at(-1)}-link.yaml`)
    symlinkSync(file, link)
    const rules = load(link, { watch: true })
    const first = rules.table
    writeFileSync(file, rule('/a', 20))
    await until(() => rules.table !== first)
    rmSync(link)
  })

  it('tells of a file that is wrong, and goes on by the one before', async () => {
    const file = fileWith(rule('/a', 10))
    const errors: Error[] = []
    const rules = load(file, { watch: true, onError: (error) => errors.push(error) })
    const first = rules.table
    writeFileSync(file, '- { limt: 1 }')
    await until(() => errors.length > 0)
    expect(errors[0]).toMatchObject({ code: 'HEADGATE_BAD_RULES' })
    expect(errors[0]!.message).toContain(
      `${file}:1:5: \`limt\` is no option of a rule: did you mean \`limit\`?`
    )
    expect(rules.table).toBe(first)
    writeFileSync(file, rule('/b', 1))
    await until(() => rules.table !== first)
  })

  it('warns of it where nobody listens', async () => {
    const file = fileWith(rule('/a', 10))
    load(file, { watch: true })
    const warned = new Promise<Error & { code?: string }>((resolve) => process.once('warning', resolve))
    writeFileSync(file, '[')
    expect(await warned).toMatchObject({ name: 'HeadgateWarning', code: 'HEADGATE_RULES_NOT_RELOADED' })
  })

  it('is refused where it is neither true nor false', () => {
    const file = fileWith(rule('/a', 10))
    expect(() => loadRules(file, { watch: 'yes' as never })).toThrow('`watch` is "yes": give true or false')
    expect(() => loadRules(file, { wach: true } as never)).toThrow('did you mean `watch`?')
    expect(() => loadRules(7 as never)).toThrow("give the path of a file, such as 'limits.yaml'")
  })
})
