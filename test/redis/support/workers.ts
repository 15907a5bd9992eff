import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { build } from 'vite'
import { afterAll, beforeAll } from 'vitest'
import type { Work, Worked } from './worker.js'

/** Imports files of Lua as their text, as vitest.config.ts does. */
const luaText = {
  name: 'lua-text',
  transform: (code: string, id: string) =>
    id.endsWith('.lua') ? `export default ${JSON.stringify(code)}` : undefined
}

const root = resolve(import.meta.dirname, '../../..')

/** Runs work in processes of their own. */
export interface Workers {
  /** Starts a process for each, lets all begin at once, and gives what each has done. */
  run(works: readonly Work[]): Promise<Worked[]>
}

/** Workers for the tests of a file, from a build of the sources as they are. */
export function workers(): Workers {
  // Where the packages that it imports are found.
  const folder = join(root, `node_modules/.cache/headgate-${process.pid}`)
  beforeAll(async () => {
    const entry = join(import.meta.dirname, 'worker.ts')
    const output = { outDir: folder, ssr: entry, target: 'node20', emptyOutDir: true, minify: false }
    await build({
      configFile: false,
      plugins: [luaText],
      root,
      logLevel: 'error',
      publicDir: false,
      build: output
    })
  }, 60_000)
  afterAll(() => rm(folder, { recursive: true, force: true }))
  return { run: (works) => runAll(join(folder, 'worker.js'), works) }
}

async function runAll(file: string, works: readonly Work[]): Promise<Worked[]> {
  const children = works.map((work) =>
    fork(file, { execArgv: [], env: { ...process.env, SKEW: String(work.skewMs ?? 0) } })
  )
  try {
    await Promise.all(children.map((child) => once(child, 'message')))
    return await Promise.all(children.map((child, i) => answerOf(child, works[i]!)))
  } finally {
    for (const child of children) child.kill('SIGKILL')
  }
}

async function answerOf(child: ChildProcess, work: Work): Promise<Worked> {
  const answered = once(child, 'message')
  const ended = once(child, 'exit')
  child.send(work)
  const answer = await Promise.race([answered, ended])
  if (typeof answer[0] !== 'object') throw new Error(`a worker ended with ${answer}`)
  const [code] = await ended
  if (code !== 0) throw new Error(`a worker ended with ${code}`)
  return answer[0] as Worked
}
