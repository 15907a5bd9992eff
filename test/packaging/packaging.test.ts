import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { installProjects, type Projects } from './install.js'
import { outputOf, type Run, run } from './run.js'
import { frameworks } from './versions.js'

type Project = 'current' | 'express-only' | 'fastify-only' | 'core-only'
type PackageType = 'module' | 'commonjs'

const timeout = 300_000
const passed: Run = { code: 0, stdout: '', stderr: '' }
let installed: Projects

beforeAll(async () => {
  installed = await installProjects(await frameworks())
}, timeout)

afterAll(() => installed?.remove(), timeout)

describe('the tarball', () => {
  const documents = ['README.md', 'CHANGELOG.md', 'LICENSE', 'package.json']

  it('has the build and the documents, and nothing else', () => {
    for (const { path } of installed.packed.files)
      if (!documents.includes(path)) expect(path).toMatch(/^dist\/.*(\.js|\.cjs|\.d\.ts|\.d\.cts)$/)
  })

  it.each([
    ['', 137_000],
    ['dist/nest/', 28_000],
    ['dist/redis/', 48_000],
    ['dist/shared/', 20_600]
  ])('has in %j no more than %d bytes', (folder, bound) => {
    const folders = ['dist/nest/', 'dist/redis/', 'dist/shared/']
    const isMeant = (path: string) =>
      folder === ''
        ? ![...folders, ...documents].some((other) => path.startsWith(other))
        : path.startsWith(folder)
    const sizes = installed.packed.files.map(({ path, size }) => (isMeant(path) ? size : 0))
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(bound)
  })

  it('keeps its documentation in the declarations', async () => {
    expect(await built('internal.cjs')).not.toMatch(/^\s*(\/\*|\*(?!\w)|\/\/)/m)
    expect(await built('internal.d.cts')).toContain('@example')
  })

  it.each(['internal', 'express/index', 'fastify/index', 'nest/factory', 'redis/index', 'shared/index'])(
    'has in %s lines that can be shown, in ASCII, and the names of functions',
    async (file) => {
      const code = await built(`${file}.cjs`)
      expect(Math.max(...code.split('\n').map((line) => line.length))).toBeLessThan(1200)
      expect(code).toMatch(/^[\n\x20-\x7e]+$/)
      expect(code).toMatch(/^function [a-z]\w{4,}\(/m)
    }
  )

  it('can be bundled into an ES module, which has no `require` for what Node has built in', async () => {
    expect(await built('internal.cjs')).toContain('process.getBuiltinModule("node:')
    for (const file of ['internal', 'index', 'express/index', 'fastify/index', 'nest/index', 'nest/factory'])
      expect(await built(`${file}.cjs`)).not.toMatch(/require\(["']node:/)
  })

  it.each([
    ['index', []],
    ['express/index', ['express', 'node:http']],
    ['fastify/index', ['fastify']],
    ['nest/index', ['@nestjs/common', 'node:http']]
  ])('needs, for the types of %s, those of %j', async (entry, expected) => {
    const outside = new Set<string>()
    for (const file of await declarationsOf(`${entry}.d.ts`))
      for (const name of await specifiersOf(file)) if (!name.startsWith('.')) outside.add(name)
    expect([...outside].sort()).toEqual(expected)
  })

  it('brings no framework along', () => {
    const has = (project: Project, name: string) =>
      existsSync(join(installed.folder, project, 'node_modules', name))
    expect([has('core-only', 'express'), has('core-only', 'fastify')]).toEqual([false, false])
    expect([has('express-only', 'fastify'), has('fastify-only', 'express')]).toEqual([false, false])
  })
})

describe.concurrent('at run time', { timeout }, () => {
  const scripts = ['core', 'express', 'fastify'].flatMap((name) => [`${name}.cjs`, `${name}.mjs`])
  const cases: readonly (readonly [Project, string])[] = [
    ...[...scripts, 'both-formats.mjs'].map((name) => ['current', name] as const),
    ['express-only', 'express.cjs'],
    ['express-only', 'express.mjs'],
    ['express-only', 'no-nest.mjs'],
    ['fastify-only', 'fastify.cjs'],
    ['fastify-only', 'fastify.mjs'],
    ['core-only', 'core.cjs'],
    ['core-only', 'core.mjs'],
    ['core-only', 'shared.cjs'],
    ['core-only', 'shared.mjs'],
    ['core-only', 'no-peers.mjs']
  ]
  it.each(cases)('works in %s: %s', async (project, name) => {
    expect(await runScript(project, name)).toEqual(passed)
  })

  it.each(['exit.cjs', 'exit.mjs'])('keeps no process alive: %s', async (name) => {
    const { stdout, ...rest } = await runScript('current', name)
    const ended = Date.now()
    expect({ ...passed, ...rest }).toEqual(passed)
    expect(ended - Number(/^closed at (\d+)$/m.exec(stdout)?.[1])).toBeLessThan(2000)
  })

  // Such as NODE_LINES='22 24', which npm downloads: .ci/run asks for them.
  const lines = process.env.NODE_LINES?.split(' ') ?? []
  it.each(lines)('works in Node %s', async (line) => {
    const path = ['-y', '-p', `node@${line}`, 'node', '-p', 'process.execPath']
    const node = (await outputOf('npx', path, installed.folder)).trim()
    expect(await outputOf(node, ['--version'], installed.folder)).toMatch(`v${line}.`)
    for (const name of [...scripts, 'both-formats.mjs'])
      expect(await runScript('current', name, node)).toEqual(passed)
  })
})

describe.concurrent('for TypeScript', { timeout }, () => {
  const resolutions = {
    node16: ['--module', 'node16'],
    nodenext: ['--module', 'nodenext'],
    bundler: ['--module', 'preserve', '--moduleResolution', 'bundler'],
    // It knows no `exports`. Fastify's own declarations fail under it without esModuleInterop.
    classic: ['--module', 'commonjs', '--moduleResolution', 'node10', '--skipLibCheck', 'true']
  } as const
  const checked = ['node16', 'nodenext', 'bundler'] as const
  const sources = ['types/core.ts', 'types/express.ts', 'types/fastify.ts', 'program/program.ts']
  const types: readonly PackageType[] = ['module', 'commonjs']

  const matrix = ['typescript', 'typescript7'].flatMap((compiler) =>
    types.flatMap((type) => checked.map((name) => [compiler, type, name] as const))
  )
  it.each(matrix)('finds all types by %s, from %s by %s', async (compiler, type, name) => {
    const flags = [...resolutions[name], '--noEmit', ...sources]
    expect(await compile('current', type, flags, compiler)).toEqual(passed)
  })

  const alone = types.flatMap(
    (type) =>
      [
        ['express-only', type, ['types/core.ts', 'types/express.ts']],
        ['fastify-only', type, ['types/core.ts', 'types/fastify.ts', 'policies/policies.ts']],
        ['core-only', type, ['types/core.ts']]
      ] as const
  )
  it.each(alone)('finds the types in %s, from %s', async (project, type, files) => {
    // Names of policies are declared for a whole program.
    for (const program of [files.filter(isCommon), files.filter((name) => !isCommon(name))])
      if (program.length > 0)
        expect(await compile(project, type, [...resolutions.nodenext, '--noEmit', ...program])).toEqual(
          passed
        )
  })

  it('takes both formats in one program', async () => {
    const both = [...sources, ...sources.map((name) => `../commonjs/${name}`)]
    expect(await compile('current', 'module', [...resolutions.nodenext, '--noEmit', ...both])).toEqual(passed)
  })

  const emits: readonly [string, PackageType, readonly string[]][] = [
    ['an ES module', 'module', resolutions.nodenext],
    ['CommonJS', 'commonjs', resolutions.nodenext],
    ['classic CommonJS', 'commonjs', [...resolutions.classic, '--esModuleInterop', 'true']],
    ['CommonJS without interop', 'commonjs', [...resolutions.classic, '--esModuleInterop', 'false']]
  ]
  it.each(emits)('runs as %s', async (name, type, flags) => {
    const out = `out/${name.replaceAll(' ', '-')}`
    const emitted = await compile('current', type, [...flags, '--outDir', out, 'program/program.ts'])
    expect(emitted).toEqual(passed)
    const ran = await run(process.execPath, [`${out}/program.js`], join(installed.folder, 'current', type))
    expect(ran).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(ran.stdout)).toEqual({
      core: [true, false],
      express: [200, 429],
      fastify: [200, 429],
      defaults: true
    })
  })
})

function isCommon(file: string): boolean {
  return !file.startsWith('policies/')
}

function runScript(project: Project, name: string, node = process.execPath): Promise<Run> {
  return run(node, [`module/scripts/${name}`], join(installed.folder, project))
}

function compile(
  project: Project,
  type: PackageType,
  flags: readonly string[],
  compiler = 'typescript'
): Promise<Run> {
  const tsc = join(installed.folder, 'current/node_modules', compiler, 'bin/tsc')
  const strict = ['--strict', '--skipLibCheck', 'false', '--target', 'es2022', '--pretty', 'false']
  return run(process.execPath, [tsc, ...strict, ...flags], join(installed.folder, project, type))
}

function built(file: string): Promise<string> {
  return readFile(join(installed.packed.folder, 'dist', file), 'utf8')
}

async function specifiersOf(file: string): Promise<string[]> {
  const found = (await built(file)).matchAll(/(?:\bfrom|\bimport\(?|\btypes=)\s*["']([^"']+)["']/g)
  return [...found].map(([, specifier]) => specifier!)
}

/** A declaration file and all that it leads to within the package. */
async function declarationsOf(file: string, seen = new Set<string>()): Promise<Set<string>> {
  if (seen.has(file)) return seen
  seen.add(file)
  for (const name of await specifiersOf(file))
    if (name.startsWith('.'))
      await declarationsOf(join(file, '..', name.replace(/\.(c?)js$/, '.d.$1ts')), seen)
  return seen
}
