import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { transform as bySwc, type Options } from '@swc/core'
import { transform as byEsbuild } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildCopy } from '../packaging/build.js'
import { outputOf } from '../packaging/run.js'
import { isWhole } from '../support/extent.js'

type Decorators = 'legacy' | 'standard'
type Format = 'module' | 'commonjs'
/** Compiles a source text to JavaScript. */
type Compile = (source: string) => Promise<{ readonly code: string }>

const timeout = 300_000
const programs = ['express', 'fastify'] as const
const sources = join(import.meta.dirname, 'toolchains')
const packages = resolve(import.meta.dirname, '../../node_modules')

/** What each program prints: the statuses of its requests. */
const statuses = {
  shared: [200, 200, 200, 429, 429],
  own: [200, 200, 429],
  inherited: [200, 429],
  key: [200, 429, 200],
  skipped: [200, 200, 200, 200],
  tiers: [200, 200, 429, 429],
  // What the second's tier denied was not charged to the hour's.
  later: [200, 429]
}

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-toolchains-'))
  await buildCopy(join(folder, 'headgate'))
  await mkdir(join(folder, 'node_modules'))
  await symlink(join(folder, 'headgate'), join(folder, 'node_modules/headgate'))
  for (const name of ['express', 'fastify', '@types'])
    await symlink(join(packages, name), join(folder, 'node_modules', name))
  for (const type of ['module', 'commonjs'] satisfies Format[]) {
    await mkdir(join(folder, type))
    await writeFile(join(folder, type, 'package.json'), JSON.stringify({ type }))
    for (const name of [...programs, 'types'])
      await writeFile(join(folder, type, `${name}.ts`), await sourceOf(name))
  }
}, timeout)

afterAll(() => rm(folder, { recursive: true, force: true }))

const kinds: readonly Decorators[] = ['legacy', 'standard']
const formats: readonly Format[] = ['module', 'commonjs']
const cases = kinds.flatMap((kind) => formats.map((format) => [kind, format] as const))

describe.concurrent('a controller limits the same', { timeout }, () => {
  it.each(cases)('by tsc, with %s decorators, as %s', async (kind, format) => {
    const legacy = ['--experimentalDecorators', '--emitDecoratorMetadata', '--isolatedModules']
    const strict = [
      '--strict',
      '--exactOptionalPropertyTypes',
      '--noUncheckedIndexedAccess',
      '--skipLibCheck'
    ]
    const emit = ['--module', 'nodenext', '--target', 'es2022', '--types', 'node', '--outDir', `tsc-${kind}`]
    const flags = [...strict, ...emit, ...(kind === 'legacy' ? legacy : [])]
    const files = [...programs, 'types'].map((name) => `${name}.ts`)
    // The one that is written in Go takes a fraction of the other's time.
    const isOld = isWhole || (kind === 'legacy') === (format === 'commonjs')
    const tsc = join(packages, isOld ? 'typescript' : 'typescript7', 'bin/tsc')
    await node(format, [tsc, '--pretty', 'false', ...flags, ...files])
    await expectStatuses(format, `tsc-${kind}`)
  })

  it.each(cases)('by esbuild, with %s decorators, as %s', async (kind, format) => {
    const compilerOptions = { experimentalDecorators: kind === 'legacy' }
    await write(format, `esbuild-${kind}`, (source) =>
      byEsbuild(source, {
        loader: 'ts',
        target: 'node20',
        format: format === 'module' ? 'esm' : 'cjs',
        tsconfigRaw: { compilerOptions }
      })
    )
    await expectStatuses(format, `esbuild-${kind}`)
  })

  const transforms: Readonly<Record<string, NonNullable<Options['jsc']>['transform']>> = {
    legacy: { legacyDecorator: true, decoratorMetadata: true },
    '2022-03': { decoratorVersion: '2022-03' },
    '2023-11': { decoratorVersion: '2023-11' as '2022-03' }
  }
  const versions = Object.keys(transforms).flatMap((kind) => formats.map((format) => [kind, format] as const))
  it.each(versions)('by swc, with %s decorators, as %s', async (kind, format) => {
    await write(format, `swc-${kind}`, (source) =>
      bySwc(source, {
        jsc: {
          target: 'es2022',
          parser: { syntax: 'typescript', decorators: true },
          transform: transforms[kind]!
        },
        module: { type: format === 'module' ? 'es6' : 'commonjs' },
        configFile: false,
        swcrc: false
      })
    )
    await expectStatuses(format, `swc-${kind}`)
  })
})

function sourceOf(name: string): Promise<string> {
  return readFile(join(sources, `${name}.ts`), 'utf8')
}

async function write(format: Format, out: string, compile: Compile): Promise<void> {
  await mkdir(join(folder, format, out))
  for (const name of programs) {
    const { code } = await compile(await sourceOf(name))
    await writeFile(join(folder, format, out, `${name}.js`), code)
  }
}

async function expectStatuses(format: Format, out: string): Promise<void> {
  for (const name of programs) {
    const printed = await node(format, ['--trace-warnings', `${out}/${name}.js`])
    expect(JSON.parse(printed), name).toEqual(statuses)
  }
}

function node(format: Format, parameters: readonly string[]): Promise<string> {
  return outputOf(process.execPath, parameters, join(folder, format))
}
