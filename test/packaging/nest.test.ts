import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isWhole } from '../support/extent.js'
import { bundled } from './bundle.js'
import { bundler, commonjs, declare, nodenext as nodenextModule } from './declarations.js'
import { installProjects, type Projects } from './install.js'
import { type Run, run } from './run.js'
import { lowestTypeScript } from './versions.js'

type PackageType = 'module' | 'commonjs'

const timeout = 300_000
const passed: Run = { code: 0, stdout: '', stderr: '' }
const lines = ['nest-12', 'nest-11', 'nest-10'] as const
let installed: Projects

beforeAll(async () => {
  installed = await installProjects(lines)
}, timeout)

afterAll(() => installed?.remove(), timeout)

const nodenext = ['--module', 'nodenext']
const leniently = ['--skipLibCheck', 'true']
// It knows no `exports`. Fastify's own declarations fail under it.
const classic = ['--module', 'commonjs', '--moduleResolution', 'node10', '--skipLibCheck', 'true']

const answers = {
  service: 'true',
  reports: [200, 200, 429],
  headers: ['2', '0', '2;w=86400'],
  waits: true,
  logins: [200, 200, 429],
  health: [200, 200, 200],
  unknown: [404, 429, 429],
  messages: ['received', true, true]
}

describe.concurrent('an application', { timeout }, () => {
  const formats: readonly (readonly [string, PackageType, readonly string[], string])[] = [
    ['an ES module', 'module', nodenext, 'typescript'],
    ['CommonJS', 'commonjs', nodenext, 'typescript7'],
    ['classic CommonJS', 'commonjs', [...classic, '--esModuleInterop', 'true'], 'typescript']
  ]
  const classicLines = ['nest-11']
  const cases = lines.flatMap((line) =>
    formats
      .filter(([name]) => isWhole || name !== 'classic CommonJS' || classicLines.includes(line))
      .map(([name, type, flags, compiler]) => {
        const quick = isWhole || line === 'nest-12' || name !== 'an ES module' ? compiler : 'typescript7'
        return [line, name, type, flags, quick] as const
      })
  )
  it.each(cases)('on %s compiles and runs as %s', async (line, name, type, flags, compiler) => {
    const out = `out/${name.replaceAll(' ', '-')}`
    const sources = ['nest/main.ts', 'nest/types.ts']
    expect(await compile(line, type, [...flags, '--outDir', out, ...sources], compiler)).toEqual(passed)
    const { stdout, ...ran } = await node(line, type, [`${out}/main.js`])
    expect(ran).toEqual({ code: 0, stderr: '' })
    expect(JSON.parse(stdout)).toEqual({ hasOneError: true, express: answers, fastify: answers })
  })

  it.each(lines)('on %s has one module for both formats, whichever comes first', async (line) => {
    for (const script of ['scripts/nest-formats.mjs', 'scripts/nest-formats.cjs'])
      expect(await node(line, 'module', [script])).toEqual(passed)
  })

  it.each(['esm', 'cjs'] as const)('has the module in one file, by esbuild as %s', async (format) => {
    const script = join(installed.folder, 'nest-11/module/scripts/nest-bundle.mjs')
    expect(await bundled(script, format, ['@nestjs/*', 'reflect-metadata'])).toBe('bundled\n')
  })
})

describe.concurrent('for TypeScript 7', { timeout }, () => {
  // CommonJS by node16 knows no ES modules, as all of NestJS 12 is: for users nothing of it can be imported there, and
  // of the declarations here one is CommonJS.
  const cases: readonly (readonly [string, PackageType, string, readonly string[]])[] = [
    ['nest-12', 'module', 'node16', leniently],
    ['nest-12', 'module', 'nodenext', []],
    ['nest-12', 'commonjs', 'bundler', []],
    ['nest-11', 'commonjs', 'node16', []],
    ['nest-11', 'module', 'bundler', []],
    ['nest-10', 'module', 'node16', []],
    ['nest-10', 'commonjs', 'bundler', []]
  ]
  it.each(cases)('the types of %s are right from %s by %s', async (line, type, resolution, flags) => {
    const module = resolution === 'bundler' ? 'preserve' : resolution
    const all = ['--module', module, '--moduleResolution', resolution, '--noEmit', ...flags, 'nest/types.ts']
    expect(await compile(line, type, all, 'typescript7')).toEqual(passed)
  })
})

// Below TypeScript 5.8 no CommonJS may lead to ES modules, as which NestJS 12 comes: the declarations here are CommonJS.
it.each([
  ['nest-12', leniently],
  ['nest-11', []]
] as const)(
  'the types on %s are right for the lowest TypeScript, with %j',
  { timeout },
  async (line, flags) => {
    const all = [...nodenext, '--noEmit', ...flags, 'nest/types.ts']
    expect(await compile(line, 'module', all, lowestTypeScript)).toEqual(passed)
  }
)

describe.concurrent('what is exported', { timeout }, () => {
  it.each(lines)('has types that can be named, on %s', async (line) => {
    const settings = line === 'nest-12' ? [nodenextModule, bundler] : [commonjs, bundler]
    expect(
      await declare(join(installed.folder, line), tool('typescript7/bin/tsc'), ['nest'], settings)
    ).toEqual(passed)
  })
})

describe.concurrent('in test runners', { timeout }, () => {
  const runs = [
    ['nest-12', 'module', ['ts-jest']],
    ['nest-11', 'commonjs', ['ts-jest', 'swc-jest']],
    ['nest-10', 'commonjs', ['ts-jest']]
  ] as const
  it.each(runs)('Jest tests an application on %s as %s, by %j', async (line, type, transforms) => {
    const modules = type === 'module' ? ['--experimental-vm-modules', '--no-warnings'] : []
    const jest = [...modules, tool('jest/bin/jest.js'), '--config', 'nest/jest.config.cjs', '--no-watchman']
    const { code, stderr } = await node(line, type, [...jest, '--selectProjects', ...transforms])
    const count = 2 * transforms.length
    expect(code, stderr).toBe(0)
    expect(stderr).toMatch(new RegExp(`^Tests: +${count} passed, ${count} total$`, 'm'))
  })

  it.each(runs.slice(0, 2))('Vitest tests an application on %s as %s', async (line, type) => {
    const vitest = [tool('vitest/vitest.mjs'), 'run', '--root', 'nest', '--reporter', 'json']
    const { code, stdout, stderr } = await node(line, type, vitest)
    expect(code, stdout + stderr).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ numPassedTests: 2, numTotalTests: 2 })
  })
})

function tool(path: string): string {
  return join(installed.folder, 'node_modules', path)
}

function node(line: string, type: PackageType, parameters: readonly string[]): Promise<Run> {
  return run(process.execPath, parameters, join(installed.folder, line, type))
}

function compile(
  line: string,
  type: PackageType,
  flags: readonly string[],
  compiler = 'typescript'
): Promise<Run> {
  const decorators = ['--experimentalDecorators', '--emitDecoratorMetadata']
  const strict = ['--strict', '--skipLibCheck', 'false', '--target', 'es2022', '--pretty', 'false']
  return node(line, type, [tool(`${compiler}/bin/tsc`), ...strict, ...decorators, ...flags])
}
