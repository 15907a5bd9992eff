import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { block } from '../support/readme.js'
import { type Run, run } from './run.js'

const root = resolve(import.meta.dirname, '../..')
const jest = join(root, 'test/packaging/installed/node_modules/jest')
const beside = ['express', 'fastify', 'supertest', 'vitest', 'reflect-metadata', 'rxjs']
const nest = ['common', 'core', 'platform-express', 'testing'].map((name) => `@nestjs/${name}`)
let project: string

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'headgate-testing-'))
  const links = [
    ['headgate', root],
    ['jest', jest],
    ...[...beside, ...nest].map((name) => [name, join(root, 'node_modules', name)] as const)
  ] as const
  for (const [name, target] of links) {
    const path = join(project, 'node_modules', name)
    await mkdir(dirname(path), { recursive: true })
    await symlink(target, path)
  }
})

afterAll(() => rm(project, { recursive: true, force: true }))

/** Puts examples into files of a folder of their own. */
async function folderOf(files: Readonly<Record<string, string>>, type = 'module'): Promise<string> {
  const folder = await mkdtemp(join(project, 'run-'))
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type }))
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  return folder
}

function node(folder: string, parameters: readonly string[]): Promise<Run> {
  return run(process.execPath, parameters, folder)
}

describe.concurrent('the examples of docs/testing.md', { timeout: 240_000 }, () => {
  it('pass under Vitest, of NestJS too', async () => {
    const folder = await folderOf({
      'app.js': block('example: testing-app'),
      'app.test.js': block('example: testing-vitest'),
      'app.spec.ts': block('example: testing-nest'),
      'tsconfig.json': JSON.stringify({ compilerOptions: { experimentalDecorators: true } }),
      'vitest.config.js':
        'export default { oxc: { decorator: { legacy: true, emitDecoratorMetadata: true } }, resolve: { preserveSymlinks: false } }'
    })
    const { code, stdout, stderr } = await node(folder, [
      join(root, 'node_modules/vitest/vitest.mjs'),
      'run',
      '--reporter',
      'json'
    ])
    expect(code, stdout + stderr).toBe(0)
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toMatchObject({ numPassedTests: 4, numTotalTests: 4 })
  })

  it('pass under Jest', async () => {
    const folder = await folderOf({ 'app.test.js': block('example: testing-jest') }, 'commonjs')
    const { code, stderr } = await node(folder, [
      join(jest, 'bin/jest.js'),
      '--no-watchman',
      '--rootDir',
      folder
    ])
    expect(code, stderr).toBe(0)
    expect(stderr).toMatch(/^Tests: +2 passed, 2 total$/m)
    expect(stderr).not.toMatch(/warn|open handle|did not exit/i)
  })

  it('pass under node:test', async () => {
    const folder = await folderOf({ 'app.test.js': block('example: testing-node') })
    const { code, stdout, stderr } = await node(folder, [
      '--test',
      '--no-warnings',
      '--test-reporter',
      'tap',
      'app.test.js'
    ])
    expect(code, stdout + stderr).toBe(0)
    expect(stdout).toMatch(/^# pass 1$/m)
    expect(stderr).toBe('')
  })
})
