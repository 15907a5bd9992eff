import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { minVersion, satisfies } from 'semver'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isWhole } from '../support/extent.js'
import { manifestOf } from './build.js'
import { bundled } from './bundle.js'
import { bundler, classic, commonjs, declare, node16, nodenext } from './declarations.js'
import { installProjects, type Projects, versionIn } from './install.js'
import { outputOf, type Run, run } from './run.js'
import { lowestTypeScript, projects } from './versions.js'

type Project = 'current' | 'express-only' | 'fastify-only' | 'core-only'
type PackageType = 'module' | 'commonjs'

const timeout = 300_000
const passed: Run = { code: 0, stdout: '', stderr: '' }
let installed: Projects

beforeAll(async () => {
  installed = await installProjects(['current', 'express-only', 'fastify-only', 'core-only'])
}, timeout)

afterAll(() => installed?.remove(), timeout)

describe('the tarball', () => {
  const folders = ['dist', 'src', 'docs', 'examples']
  const documents = [
    'README.md',
    'CHANGELOG.md',
    'CONTRIBUTING.md',
    'LICENSE',
    'limits.schema.json',
    'package.json'
  ]

  it('has the build, its sources, the documents and the examples, and nothing else', () => {
    for (const { path } of installed.packed.files)
      if (path.startsWith('dist/')) expect(path).toMatch(/(\.js|\.cjs|\.cjs\.map|\.d\.ts|\.d\.cts)$/)
      else if (!documents.includes(path)) expect(folders).toContain(path.split('/')[0])
  })

  it.each([
    ['', 600_000],
    ['cli/', 6000],
    ['nest/', 60_000],
    ['redis/', 100_000],
    ['remote/', 122_000],
    ['rules/', 60_000],
    ['shared/', 60_000]
  ])('has in the code and types of dist/%s no more than %d bytes', (folder, bound) => {
    const own = ['cli/', 'nest/', 'redis/', 'remote/', 'rules/', 'shared/'].map((name) => `dist/${name}`)
    const isMeant = (path: string) =>
      path.startsWith(`dist/${folder}`) &&
      !path.endsWith('.map') &&
      (folder !== '' || !own.some((other) => path.startsWith(other)))
    const sizes = installed.packed.files.map(({ path, size }) => (isMeant(path) ? size : 0))
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(bound)
  })

  it('keeps its documentation in the declarations', async () => {
    expect(await built('internal.cjs')).not.toMatch(/^\s*(\/\*|\*(?!\w))/m)
    expect(await built('internal.d.cts')).toContain('@example')
  })

  it('is strict in CommonJS, as its ES modules are', async () => {
    const code = installed.packed.files.map(({ path }) => path).filter((path) => path.endsWith('.cjs'))
    expect(code.length).toBeGreaterThan(10)
    for (const path of code)
      expect(await built(path.slice('dist/'.length)), path).toMatch(/^(?:#!.*\n)?(['"])use strict\1/)
  })

  it('has maps from all of its code to sources that it has', async () => {
    const packed = new Set(installed.packed.files.map(({ path }) => path))
    const code = [...packed].filter((path) => path.endsWith('.cjs')).map((path) => path.slice('dist/'.length))
    const mapped: string[] = []
    for (const file of code) if ((await built(file)).includes('//#region src/')) mapped.push(file)
    expect(mapped).toEqual(expect.arrayContaining(['internal.cjs', 'express/index.cjs', 'nest/main.cjs']))
    for (const file of mapped) {
      const { sources } = JSON.parse(await built(`${file}.map`))
      for (const source of sources) expect(packed).toContain(join('dist', file, '..', source))
    }
  })

  it('leads from README and docs to nothing that it lacks', async () => {
    const packed = installed.packed.files.map(({ path }) => path)
    const texts = packed.filter((path) =>
      /^(README|CONTRIBUTING|CHANGELOG|docs\/.*|examples\/.*)\.md$/.test(path)
    )
    const dead: string[] = []
    for (const path of texts)
      for (const link of linksOf(await readFile(join(installed.packed.folder, path), 'utf8'))) {
        const [file, anchor] = link.split('#')
        const target = file === '' ? path : join(path, '..', file!).replace(/\/$/, '')
        const isThere = packed.some((other) => other === target || other.startsWith(`${target}/`))
        if (!isThere || (anchor !== undefined && !(await anchorsOf(target)).has(anchor)))
          dead.push(`${path}: ${link}`)
      }
    expect(dead).toEqual([])
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

  it.each(Object.keys(projects) as (keyof typeof projects)[])(
    'takes the frameworks of %s',
    async (project) => {
      const { peerDependencies } = await manifestOf()
      for (const [peer, range] of Object.entries(peerDependencies)) {
        const version = await versionIn(project, peer)
        if (version !== undefined) expect(satisfies(version, range), `${peer} ${version}`).toBe(true)
      }
    }
  )

  it('is tried on the lowest versions that it takes', async () => {
    const { peerDependencies } = await manifestOf()
    expect(await versionIn('express-only', 'express')).toBe(minVersion(peerDependencies.express!)?.version)
    // Fastify 4 is for NestJS 10 alone.
    expect(await versionIn('fastify-only', 'fastify')).toBe('5.0.0')
  })

  it('PKG-06: brings no framework along', () => {
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
    ['current', 'rules.cjs'],
    ['current', 'rules.mjs'],
    ['core-only', 'no-peers.mjs']
  ]
  // PKG-06: in `no-peers` and `no-nest` frameworks are missing.
  it.each(cases)('PKG-01: works in %s: %s', async (project, name) => {
    expect(await runScript(project, name)).toEqual(passed)
  })

  it.each(['esm', 'cjs'] as const)('works in one file, by esbuild as %s', async (format) => {
    expect(await bundled(join(installed.folder, 'core-only/module/scripts/bundle.mjs'), format)).toBe(
      'bundled\n'
    )
  })

  it.each(['exit.cjs', 'exit.mjs'])('keeps no process alive: %s', async (name) => {
    const { stdout, ...rest } = await runScript('current', name)
    const ended = Date.now()
    expect({ ...passed, ...rest }).toEqual(passed)
    expect(ended - Number(/^closed at (\d+)$/m.exec(stdout)?.[1])).toBeLessThan(2000)
  })

  it('works in each of the files that Jest runs in one process, and whenever it loads all anew', async () => {
    const jest = join(installed.folder, 'node_modules/jest/bin/jest.js')
    const flags = ['--config', 'copies/jest.config.cjs', '--runInBand', '--no-watchman']
    const { code, stderr } = await run(
      process.execPath,
      [jest, ...flags],
      join(installed.folder, 'current/commonjs')
    )
    expect(code, stderr).toBe(0)
    expect(stderr).toMatch(/^Tests: +16 passed, 16 total$/m)
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
    // PKG-03: it knows no `exports`. Fastify's own declarations fail under it without esModuleInterop.
    classic: ['--module', 'commonjs', '--moduleResolution', 'node10', '--skipLibCheck', 'true']
  } as const
  const checked = ['node16', 'nodenext', 'bundler'] as const
  const sources = ['types/core.ts', 'types/express.ts', 'types/fastify.ts', 'program/program.ts']
  const types: readonly PackageType[] = ['module', 'commonjs']

  // The one that is written in Go takes a fraction of the other's time.
  const compilers = isWhole ? ['typescript7', 'typescript'] : ['typescript7']
  const matrix = [
    ...compilers.flatMap((compiler) =>
      types.flatMap((type) => checked.map((name) => [compiler, type, name] as const))
    ),
    ...(isWhole
      ? []
      : ([
          ['typescript', 'commonjs', 'node16'],
          ['typescript', 'module', 'bundler']
        ] as const))
  ]
  // PKG-05: types/fastify.ts also has what must not compile.
  it.each(matrix)('PKG-01, PKG-02: finds all types by %s, from %s by %s', async (compiler, type, name) => {
    const flags = [...resolutions[name], '--noEmit', ...sources]
    expect(await compile('current', type, flags, compiler)).toEqual(passed)
  })

  const projectsAlone = [
    ['express-only', ['types/core.ts', 'types/express.ts']],
    ['fastify-only', ['types/core.ts', 'types/fastify.ts', 'policies/policies.ts']],
    ['core-only', ['types/core.ts']]
  ] as const
  const alone = compilers.flatMap((compiler) =>
    types.flatMap((type) =>
      projectsAlone.map(([project, files]) => [compiler, project, type, files] as const)
    )
  )
  it.each(alone)('finds by %s the types in %s, from %s', async (compiler, project, type, files) => {
    // Names of policies are declared for a whole program.
    for (const program of [files.filter(isCommon), files.filter((name) => !isCommon(name))])
      if (program.length > 0)
        expect(
          await compile(project, type, [...resolutions.nodenext, '--noEmit', ...program], compiler)
        ).toEqual(passed)
  })

  it('takes both formats in one program', async () => {
    const both = [...sources, ...sources.map((name) => `../commonjs/${name}`)]
    for (const compiler of compilers)
      expect(
        await compile('current', 'module', [...resolutions.nodenext, '--noEmit', ...both], compiler)
      ).toEqual(passed)
  })

  // What users export, without a word of its type, has one that they can name: from each entry, alone in a program.
  const declaring = [
    ...compilers.map((compiler) => [compiler, [nodenext, commonjs, node16, bundler]] as const),
    ...(isWhole ? [['typescript', [classic]] as const] : [])
  ]
  it.each(declaring)('by %s writes declarations of all that may be exported', async (compiler, settings) => {
    const files = ['root', 'express', 'fastify', 'http', 'redis', 'remote', 'rules', 'shared']
    expect(await declare(join(installed.folder, 'current'), tscOf(compiler), files, settings)).toEqual(passed)
  })

  it('finds all types by the lowest version that README names', async () => {
    const readme = await readFile(join(installed.packed.folder, 'README.md'), 'utf8')
    const [, major, minor] = /TypeScript ≥ (\d+)\.(\d+)/.exec(readme)!
    expect(lowestTypeScript).toBe(`typescript${major}${minor}`)
    const flags = [...resolutions.nodenext, '--noEmit', ...sources]
    expect(await compile('current', 'module', flags, lowestTypeScript)).toEqual(passed)
  })

  it('reports a wrong option of `rateLimit` once, where it stands', async () => {
    const flags = [...resolutions.nodenext, '--noEmit', 'types/wrong.ts']
    const { stdout } = await compile('current', 'module', flags, 'typescript7')
    const source = await readFile(join(import.meta.dirname, 'projects/types/wrong.ts'), 'utf8')
    const wrong = source.split('\n').flatMap((line, i) => (line.includes('// wrong') ? [i + 1] : []))
    // What is indented belongs to the line above.
    const reports = stdout.split('\n').filter((line) => /^\S/.test(line))
    expect(reports.map((line) => Number(/^types\/wrong\.ts\((\d+),/.exec(line)?.[1]))).toEqual(wrong)
  })

  const emits: readonly [string, PackageType, readonly string[], string?][] = [
    ['an ES module', 'module', resolutions.nodenext, compilers.at(-1)!],
    ['CommonJS', 'commonjs', resolutions.nodenext, compilers.at(-1)!],
    // No later compiler knows it.
    ['classic CommonJS', 'commonjs', [...resolutions.classic, '--esModuleInterop', 'true']],
    ['CommonJS without interop', 'commonjs', [...resolutions.classic, '--esModuleInterop', 'false']]
  ]
  it.each(emits)('runs as %s', async (name, type, flags, compiler) => {
    const out = `out/${name.replaceAll(' ', '-')}`
    const emitted = await compile(
      'current',
      type,
      [...flags, '--outDir', out, 'program/program.ts'],
      compiler
    )
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

function tscOf(compiler: string): string {
  return join(installed.folder, 'node_modules', compiler, 'bin/tsc')
}

function compile(
  project: Project,
  type: PackageType,
  flags: readonly string[],
  compiler = 'typescript'
): Promise<Run> {
  const strict = ['--strict', '--skipLibCheck', 'false', '--target', 'es2022', '--pretty', 'false']
  return run(process.execPath, [tscOf(compiler), ...strict, ...flags], join(installed.folder, project, type))
}

/** Links of a document to what is beside it, but for those in code. */
function linksOf(markdown: string): string[] {
  const text = markdown.replace(/^```[\s\S]*?^```/gm, '').replace(/`[^`\n]*`/g, '`')
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!).filter((link) => !/^\w+:/.test(link))
}

/** What can stand after `#` in a link to a document: its headings, as GitHub and npm write them. */
async function anchorsOf(path: string): Promise<Set<string>> {
  const text = await readFile(join(installed.packed.folder, path), 'utf8')
  const headings = [...text.replace(/^```[\s\S]*?^```/gm, '').matchAll(/^#+ (.+)$/gm)].map(
    ([, heading]) => heading!
  )
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-')
    )
  )
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
