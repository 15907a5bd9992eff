import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { transformSync } from 'esbuild'
import ts from 'typescript'
import { expect } from 'vitest'

const root = new URL('../..', import.meta.url)

export const readme = readFileSync(new URL('README.md', root), 'utf8')

/** The fenced block that follows a mark. */
export function block(mark: string): string {
  const found = readme.split(`<!-- ${mark} -->\n`)[1]?.match(/^```\w*\n([\s\S]*?)```/)
  if (!found) throw new Error(`README has no block marked ${mark}`)
  return found[1]!
}

/** Runs an example from a file of its own, for the threads that it starts; gives the lines that it prints. */
export function runFile(name: string): string[] {
  const file = new URL(`dist/example-${name}.mjs`, root)
  writeFileSync(file, block(`example: ${name}`))
  try {
    const { stdout, stderr } = spawnSync(process.execPath, [fileURLToPath(file)], { encoding: 'utf8' })
    expect(stderr).toBe('')
    return stdout.trim().split('\n')
  } finally {
    rmSync(file)
  }
}

/** Runs an example in TypeScript, with decorators as NestJS has them. */
export function runTypeScript(name: string, check: string): unknown {
  return evaluate(ts.transpile(`${block(`example: ${name}`)}\n${check}`, legacyDecorators))
}

/** The compiler's options of a Nest project, as far as they matter for one file. */
const legacyDecorators: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.ESNext,
  experimentalDecorators: true,
  emitDecoratorMetadata: true
}

/** Runs an example with decorators as the standard has them. */
export function runDecorated(name: string, check: string): unknown {
  const source = `${block(`example: ${name}`)}\n${check}`
  return evaluate(transformSync(source, { target: 'node20', format: 'esm' }).code)
}

/** Runs an example as a reader would, against the built package, then `check`, and gives what that printed. */
export function run(name: string, check: string, env: NodeJS.ProcessEnv = {}): unknown {
  return evaluate(`${block(`example: ${name}`)}\n${check}`, env)
}

function evaluate(input: string, env: NodeJS.ProcessEnv = {}): unknown {
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module'], {
    cwd: root,
    input,
    encoding: 'utf8',
    env: { ...process.env, ...env }
  })
  expect(stderr).toBe('')
  return JSON.parse(stdout)
}
