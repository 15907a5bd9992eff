import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { build } from 'vite'
import { afterAll, beforeAll } from 'vitest'
import { luaText } from '../../../.ci/lua-text.js'
import type { Work, Worked } from './worker.js'

const root = resolve(import.meta.dirname, '../../..')

/** Runs work in processes of their own. */
export interface Workers {
  /** Lets a process each do the works, all at once, and gives what each has done. */
  run(works: readonly Work[]): Promise<Worked[]>
}

/** Workers for the tests of a file, from a build of the sources as they are; they go on to the next work. */
export function workers(): Workers {
  // Where the packages that it imports are found.
  const folder = join(root, `node_modules/.cache/headgate-${process.pid}`)
  const idle = new Map<number, Worker[]>()
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
  afterAll(async () => {
    for (const worker of [...idle.values()].flat()) worker.kill()
    await rm(folder, { recursive: true, force: true })
  })
  return {
    async run(works) {
      const taken = works.map((work) => {
        const skew = work.skewMs ?? 0
        return idle.get(skew)?.pop() ?? new Worker(join(folder, 'worker.js'), skew)
      })
      // All begin at once.
      await Promise.all(taken.map((worker) => worker.isReady()))
      const answers = await Promise.all(taken.map((worker, i) => worker.perform(works[i]!)))
      for (const [i, worker] of taken.entries())
        if (works[i]!.isLast !== true) idle.set(worker.skew, [...(idle.get(worker.skew) ?? []), worker])
      return answers
    }
  }
}

/** A process that does works. */
class Worker {
  readonly skew: number
  readonly #child: ChildProcess
  readonly #ended: Promise<unknown[]>
  readonly #ready: Promise<unknown[]>

  constructor(file: string, skew: number) {
    this.skew = skew
    this.#child = fork(file, { execArgv: [], env: { ...process.env, SKEW: String(skew) } })
    this.#ended = once(this.#child, 'exit')
    this.#ready = once(this.#child, 'message')
  }

  async isReady(): Promise<void> {
    await Promise.race([this.#ready, this.#ended])
  }

  async perform(work: Work): Promise<Worked> {
    const answered = once(this.#child, 'message')
    this.#child.send(work)
    const [answer] = await Promise.race([answered, this.#ended])
    if (typeof answer !== 'object') throw new Error(`a worker ended with ${answer}`)
    if (work.isLast === true) {
      const [code] = await this.#ended
      if (code !== 0) throw new Error(`a worker ended with ${code}`)
    }
    return answer as Worked
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }
}
