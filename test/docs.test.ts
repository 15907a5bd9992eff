import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { Test } from '@nestjs/testing'
import Fastify from 'fastify'
import { describe, expect, it } from 'vitest'
import { errorCodes } from '../src/core/errors.js'
import { rateLimit as express, shed } from '../src/express/index.js'
import { rateLimit as fastify, shed as fastifyShed } from '../src/fastify/index.js'
import { createLimiter, type HeaderStyleName, memoryStore, toHeaders } from '../src/index.js'
import { RateLimitModule } from '../src/nest/index.js'
import { redisStore } from '../src/redis/index.js'
import { remoteStore } from '../src/remote/index.js'
import { sharedStore } from '../src/shared/index.js'
import { block, page, pages } from './support/readme.js'

const root = new URL('..', import.meta.url)
const manifest = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'))

/** What cites rules, cases and codes. */
const sources = ['src', 'test']
  .flatMap((folder) =>
    readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' }).map(
      (name) => `${folder}/${name}`
    )
  )
  .filter((path) => /\.(ts|lua|md)$/.test(path) && !path.includes('node_modules'))
const texts: readonly (readonly [path: string, text: string])[] = [
  ...sources.map((path) => [path, readFileSync(new URL(path, root), 'utf8')] as const),
  ...pages
]

describe('what is cited stands in the docs', () => {
  const rules = new Set(firstCells('docs/headers.md').concat(firstCells('docs/proxies.md')))
  const cases = new Set(firstCells('docs/cases.md'))
  const codes = new Set(headings('docs/errors.md'))

  it.each([
    ['rules', /\b[HK]\d{1,2}\b/g, rules],
    ['cases', /\b(?:BAN|CFG|CON|DEC|EXP|FST|HDR|KEY|MEM|NST|PKG|SLO|STO|WIN)-\d\d\b/g, cases],
    ['codes', /\bHEADGATE_[A-Z_]*[A-Z]\b/g, codes]
  ])('%s', (_what, pattern, defined) => {
    // Not a code: no error has it, and a test says so. And the benchmarks' variable.
    const others = ['HEADGATE_NO_SUCH_CODE', 'HEADGATE_DIST']
    const undefinedIn = texts.flatMap(([path, text]) =>
      [...new Set(text.match(pattern))]
        .filter((id) => !defined.has(id) && !others.includes(id))
        .map((id) => `${id} in ${path}`)
    )
    expect(undefinedIn).toEqual([])
  })

  it('and each case is held by a test that names it', () => {
    const tests = texts.filter(([path]) => path.startsWith('test/')).map(([, text]) => text)
    expect([...cases].filter((id) => !tests.some((text) => text.includes(id)))).toEqual([])
  })

  it('and each number of a rule is there once', () => {
    expect([...rules].filter((rule) => /^H\d+$/.test(rule))).toEqual(numbered('H', 17))
    expect([...rules].filter((rule) => /^K\d+$/.test(rule))).toEqual(numbered('K', 10))
    expect(cases.size).toBe(firstCells('docs/cases.md').length)
  })
})

describe('docs/errors.md', () => {
  const inCode = new Set(
    texts
      .filter(([path]) => path.startsWith('src/'))
      .flatMap(([, text]) => text.match(/'HEADGATE_[A-Z_]+'/g) ?? [])
      .map((code) => code.slice(1, -1))
  )
  const warnings = [...inCode].filter((code) => !(code in errorCodes)).sort()

  it('has the table of errors', () => {
    const rows = Object.entries(errorCodes).map(([code, meaning]) => `| \`${code}\` | ${meaning} |\n`)
    expect(block('table: errors')).toBe(`| code | meaning |\n| --- | --- |\n${rows.join('')}`)
  })

  it('has a table of warnings, of all of them', () => {
    const [, table] = page('docs/errors.md').split('\n## Warnings\n')
    expect((table!.match(/(?<=^\| `)HEADGATE_\w+/gm) ?? []).sort()).toEqual(warnings)
  })

  it('tells the cause and the fix of each, and of nothing else', () => {
    const sections = page('docs/errors.md').split('\n### ').slice(1)
    const told = sections.filter((section) => /\*\*Cause\.\*\*[\s\S]+\*\*Fix\.\*\*/.test(section))
    expect(told.map((section) => section.split('\n')[0]).sort()).toEqual(
      [...Object.keys(errorCodes), ...warnings].sort()
    )
  })
})

describe('the tables of options', () => {
  const odd = { zzzzzzzzzzzzzzzz: 1 } as object
  const rule = { limit: 1, window: '1m', ...odd } as never

  it('have all that Express takes, and nothing else', async () => {
    expect(optionsIn('docs/options.md', 'option')).toEqual(
      await known(() => express(rule), 'limits', 'plans', 'plan', 'defaultPlan', 'rules')
    )
  })

  it('have what else Fastify takes', async () => {
    const [common, own] = [
      optionsIn('docs/options.md', 'option'),
      optionsIn('docs/options.md', 'option of the plugin')
    ]
    expect([...common, ...own].sort()).toEqual(
      await known(async () => await Fastify().register(fastify, rule).ready())
    )
  })

  it('have what else NestJS takes', async () => {
    const [common, own] = [optionsIn('docs/options.md', 'option'), optionsIn('docs/nestjs.md', 'option')]
    const start = () => Test.createTestingModule({ imports: [RateLimitModule.forRoot(rule)] }).compile()
    expect([...common, ...own].sort()).toEqual(await known(start))
  })

  it('have what createLimiter takes', async () => {
    const names = await known(() => createLimiter(rule), 'limits')
    const section = page('docs/options.md').split('\n## createLimiter\n')[1]!
    expect(names.filter((name) => !optionsIn('docs/options.md', 'option').includes(name))).toEqual([])
    const listed = [...section.split('It returns')[0]!.matchAll(/`(\w+)`/g)].map(([, name]) => name)
    const policy = [
      'align',
      'burst',
      'delay',
      'delayAfter',
      'limit',
      'limits',
      'maxWait',
      'name',
      'queue',
      'strategy',
      'window',
      'timeZone',
      'startsOn'
    ]
    expect([...new Set([...listed, ...policy])].sort()).toEqual(names)
  })

  it.each([
    ['shed', () => shed(odd as never)],
    ['health', () => shed({ health: odd })]
  ])('of docs/shedding.md have what %s takes', async (name, make) => {
    expect(optionsIn('docs/shedding.md', `option of \`${name}\``)).toEqual(await known(make))
  })

  it('of docs/shedding.md have what else Fastify takes', async () => {
    const [common, own] = ['option of `shed`', 'option of the plugin `shed`'].map((head) =>
      optionsIn('docs/shedding.md', head)
    )
    expect([...common!, ...own!].sort()).toEqual(
      await known(async () => await Fastify().register(fastifyShed, odd).ready())
    )
  })

  it.each([
    ['docs/options.md', 'memoryStore', () => memoryStore(odd)],
    ['docs/redis.md', 'redisStore', () => redisStore(async () => null, odd)],
    ['docs/remote.md', 'remoteStore', () => remoteStore({} as never, odd)],
    ['docs/threads.md', 'sharedStore', () => sharedStore(odd)]
  ])('of %s have what %s takes', async (path, name, make) => {
    expect(optionsIn(path, `option of \`${name}\``)).toEqual(await known(make))
  })
})

describe('docs/headers.md', () => {
  const now = 1_800_000_000_000

  it('lists every style', () => {
    const message = thrownBy(() => toHeaders({} as never, { style: 'zzzzzzzzzzzz' as never }))
    const names = [...message.matchAll(/'([\w-]+)'/g)].map(([, name]) => name!)
    expect(names.length).toBeGreaterThan(10)
    for (const name of names) expect(page('docs/headers.md')).toContain(`\`'${name}'\``)
  })

  it('shows a denial in each', () => {
    const styles: HeaderStyleName[] = [
      'draft-03',
      'draft-06',
      'draft-07',
      'draft-11',
      'x-ratelimit-github',
      'x-ratelimit-epoch',
      'x-ratelimit-delta',
      'x-rate-limit-twitter',
      'none'
    ]
    const limiter = createLimiter({ name: 'api', limit: 5, window: '1m', now: () => now + 48_000 })
    limiter.consume('key', 5)
    const denied = limiter.consume('key')
    expect(block('headers: styles')).toBe(
      styles.map((style) => shown(style, toHeaders(denied, { style, nowMs: now + 48_000 }))).join('')
    )
  })

  it('shows two policies in each draft', () => {
    const burst = { name: 'burst', limit: 10, window: '1s' }
    const hourly = { name: 'hourly', limit: 1000, window: '1h' }
    const admitted = createLimiter({ limits: [burst, hourly], now: () => now }).consume('key')
    const styles: HeaderStyleName[] = ['draft-06', 'draft-07', 'draft-11']
    expect(block('headers: tiers')).toBe(
      styles.map((style) => shown(style, toHeaders(admitted, { style, nowMs: now }))).join('')
    )
  })
})

describe('docs/strategies.md', () => {
  const strategies = [
    'fixed-window',
    'sliding-window',
    'sliding-log',
    'token-bucket',
    'gcra',
    'leaky-bucket'
  ] as const

  it('shows how each admits the bursts', () => {
    const lines = ['', '8 s', '11 s', '16 s', '22 s'].map((cell, i) => cell.padEnd(i === 0 ? 16 : 10))
    const rows = [lines.join(''), ...strategies.map(burstRow)].map((row) => row.trimEnd())
    expect(block('picture: bursts')).toBe(`${rows.join('\n')}\n`)
  })

  it.each(strategies)('states how many numbers a key takes under %s', (strategy) => {
    const row = page('docs/strategies.md').match(new RegExp(`^\\| \`${strategy}\`.* \\| (.*) \\|$`, 'm'))!
    const [policy] = createLimiter({ limit: 1000, window: '1m', strategy }).policies
    expect(row[1]).toBe(policy!.slots > 1000 ? `\`limit\` + ${policy!.slots - 1000}` : String(policy!.slots))
  })
})

describe('docs/migrating.md', () => {
  const tables = page('docs/migrating.md').split('\n## Beside')[0]!
  const rows = tables.match(/(?<=^\| ).*(?= \|$)/gm)!.map((row) => row.split(' | '))
  /** What the last column says of each name that stands before it. */
  const renamed = new Map<string, string>()
  for (const cells of rows)
    for (const [, name] of cells
      .slice(0, -1)
      .join()
      .matchAll(/`(\w+)`/g))
      renamed.set(name!, `${renamed.get(name!) ?? ''} ${cells.at(-1)}`)

  it('says what the error messages say', () => {
    const hints = [...renamed].flatMap(([name, ours]) => {
      const message = thrownBy(() => express({ limit: 1, window: '1m', [name]: 1 } as never))
      const hint = /did you mean `(\w+)`/.exec(message)?.[1]
      return hint === undefined ? [] : [[name, hint, ours] as const]
    })
    expect(hints.length).toBeGreaterThan(15)
    expect(hints.filter(([, hint, ours]) => !ours.includes(`\`${hint}`))).toEqual([])
  })
})

describe('docs/benchmarks.md', () => {
  it('has tables that the benchmarks have written', () => {
    const [, report] = page('docs/benchmarks.md').split('<!-- bench: begin -->\n')
    expect(report!.split('<!-- bench: end -->')[0]).toMatch(/^\nNode v[\d.]+, \d+ × .+, \d{4}-\d\d-\d\d\.\n/)
  })
})

describe('links and paths', () => {
  const links = [...pages].flatMap(([path, text]) =>
    [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => {
      const [file, anchor] = target!.split('#') as [string, string?]
      return { path, target, anchor, to: file === '' ? path : posix.join(posix.dirname(path), file) }
    })
  )

  it.each([...pages.keys()])('of %s lead to what is there, and in the package', (path) => {
    const dead = links
      .filter((link) => link.path === path)
      .filter(({ to, anchor }) => {
        if (!isShipped(to) || !existsSync(new URL(to, root))) return true
        return anchor !== undefined && !headings(to).map(anchorOf).includes(anchor)
      })
    expect(dead.map(({ target }) => target)).toEqual([])
  })

  it.each([...pages])('of the repository that %s names are there', (_path, text) => {
    const named = [...text.matchAll(/`((?:src|test|examples|bench|docs)\/[\w./-]*)`/g)]
    expect(named.map(([, path]) => path!).filter((path) => !existsSync(new URL(path, root)))).toEqual([])
  })

  it('lead to every page', () => {
    const linked = new Set(links.map(({ to }) => to))
    expect([...pages.keys()].filter((path) => path !== 'README.md' && !linked.has(path))).toEqual([])
  })
})

/** The first cells of the tables of a page that are one word. */
function firstCells(path: string): string[] {
  return page(path).match(/(?<=^\| )[A-Z][A-Z0-9-]*(?= \|)/gm) ?? []
}

function headings(path: string): string[] {
  return page(path).match(/(?<=^#+ ).+$/gm) ?? []
}

/** As GitHub makes it. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')
}

function isShipped(path: string): boolean {
  return (manifest.files as string[]).some((entry) => path === entry || path.startsWith(`${entry}/`))
}

function numbered(letter: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${letter}${i + 1}`)
}

/** The options in the tables of a page that begin so. */
function optionsIn(path: string, head: string): string[] {
  const [, ...tables] = page(path).split(`\n| ${head} | meaning | default |\n| --- | --- | --- |\n`)
  expect(tables.length, `tables of ${path}`).toBeGreaterThan(0)
  return tables
    .flatMap((table) => table.split('\n\n')[0]!.split('\n'))
    .flatMap((row) => [...row.split(' | ')[0]!.matchAll(/`(\w+)`/g)].map(([, name]) => name!))
    .sort()
}

/** The options that the refusal of an odd one names, and `others` that it cannot name. */
async function known(make: () => unknown, ...others: string[]): Promise<string[]> {
  const error = await Promise.resolve()
    .then(make)
    .then(
      () => null,
      (thrown: Error) => thrown
    )
  const [, names] = /known are (.*)\.$/m.exec(error?.message ?? '') ?? []
  expect(names, String(error)).toBeDefined()
  return [...new Set([...names!.matchAll(/`(\w+)`/g)].map(([, name]) => name!).concat(others))].sort()
}

function thrownBy(call: () => unknown): string {
  try {
    call()
  } catch (error) {
    return (error as Error).message
  }
  return ''
}

function shown(style: string, headers: Readonly<Record<string, string>>): string {
  return [style, ...Object.entries(headers).map(([name, value]) => `  ${name}: ${value}`), ''].join('\n')
}

/** One line of the picture: 4 per 10 s, asked for 6 at once at four moments. */
function burstRow(strategy: string): string {
  let now = 0
  const places = strategy === 'leaky-bucket' ? { burst: 3 } : {}
  const limiter = createLimiter({ limit: 4, window: '10s', strategy, now: () => now, ...places })
  const cells = [8, 11, 16, 22].map((seconds) => {
    now = seconds * 1000
    const marks = Array.from({ length: 6 }, () => {
      const { allowed, delayMs = 0 } = limiter.consume('key')
      return allowed ? (delayMs > 0 ? '~' : '#') : '.'
    })
    return marks.join('').padEnd(10)
  })
  return strategy.padEnd(16) + cells.join('')
}
