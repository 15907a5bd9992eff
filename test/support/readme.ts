import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { transformSync } from 'esbuild'
import ts from 'typescript'
import { expect } from 'vitest'

const root = new URL('../..', import.meta.url)

/** What readers are given, by its path from the root. */
export const pages: ReadonlyMap<string, string> = new Map(
  [
    'README.md',
    'CONTRIBUTING.md',
    'CHANGELOG.md',
    ...readdirSync(new URL('docs/', root), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => `docs/${name}`)
  ].map((path) => [path, readFileSync(new URL(path, root), 'utf8')])
)

/** One page, such as `docs/redis.md`. */
export function page(path: string): string {
  const text = pages.get(path)
  if (text === undefined) throw new Error(`there is no page ${path}`)
  return text
}

export const readme = page('README.md')

/** A mark of one kind and the fenced block or the table that follows it: `<!-- example: redis -->`. */
export interface Marked {
  readonly path: string
  readonly mark: string
  readonly text: string
}

const marked: readonly Marked[] = [...pages].flatMap(([path, page]) =>
  [...page.matchAll(/^<!-- ([a-z]+: [\w-]+) -->\n(?:```\w*\n([\s\S]*?)^```|((?:\|.*\n)+))/gm)].map(
    ([, mark, fenced, table]) => ({ path, mark: mark!, text: fenced ?? table! })
  )
)

/** All that is marked as of one kind, such as `example`. */
export function markedAs(kind: string): readonly Marked[] {
  return marked.filter(({ mark }) => mark.startsWith(`${kind}: `))
}

/** The block or table that follows a mark, on whichever page. */
export function block(mark: string): string {
  const [found, another] = marked.filter((one) => one.mark === mark)
  if (found === undefined) throw new Error(`no page has a block marked ${mark}`)
  if (another !== undefined) throw new Error(`${mark} stands on ${found.path} and on ${another.path}`)
  return found.text
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

/** Starts the `AppModule` of an example, and gives the status and the limit of each answer. */
export function runNest(name: string, platform: string, requests: readonly string[]): unknown {
  return runTypeScript(
    name,
    `
    const { NestFactory } = await import('@nestjs/core')
    const { FastifyAdapter } = await import('@nestjs/platform-fastify')
    const { ExpressAdapter } = await import('@nestjs/platform-express')
    const adapter = ${platform === 'fastify' ? 'new FastifyAdapter()' : 'new ExpressAdapter()'}
    const app = await NestFactory.create(AppModule, adapter, { logger: false })
    await app.listen(0, '127.0.0.1')
    const url = await app.getUrl()
    const send = (method) => async (path, headers = {}, body = undefined) => {
      const response = await fetch(url + path, { method, headers, body })
      return [response.status, response.headers.get('ratelimit-limit')]
    }
    const get = send('GET')
    const post = send('POST')
    const seen = []
    ${requests.map((request) => `seen.push(await ${request})`).join('\n')}
    console.log(JSON.stringify(seen))
    await app.close()`
  )
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
