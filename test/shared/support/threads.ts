import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Worker } from 'node:worker_threads'
import { build } from 'vite'
import { afterAll, beforeAll } from 'vitest'
import type { PermitWork } from './permit-work.js'
import type { LateWork, Work } from './worker.js'

const root = resolve(import.meta.dirname, '../../..')

/** Runs work in threads. */
export interface Threads {
  start(work: Work | LateWork | PermitWork): Worker
  /** Starts a thread for each, and gives the message of each, if it sends one, once all have ended. */
  run(works: readonly (Work | PermitWork)[]): Promise<unknown[]>
}

/** Threads for the tests of a file, from a build of the sources as they are. */
export function threads(): Threads {
  // Where the packages that it imports are found.
  const folder = join(root, `node_modules/.cache/headgate-threads-${process.pid}`)
  const running = new Set<Worker>()
  beforeAll(async () => {
    const entry = join(import.meta.dirname, 'worker.ts')
    const output = { outDir: folder, ssr: entry, target: 'node20', emptyOutDir: true, minify: false }
    await build({ configFile: false, root, logLevel: 'error', publicDir: false, build: output })
  }, 60_000)
  afterAll(async () => {
    for (const worker of running) await worker.terminate()
    await rm(folder, { recursive: true, force: true })
  })
  const start = (work: Work | LateWork | PermitWork) => {
    const worker = new Worker(join(folder, 'worker.js'), { workerData: work })
    running.add(worker)
    worker.once('exit', () => running.delete(worker))
    return worker
  }
  return { start, run: (works) => Promise.all(works.map((work) => messageOf(start(work)))) }
}

function messageOf(worker: Worker): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let message: unknown
    worker.once('message', (value) => {
      message = value
    })
    worker.once('error', reject)
    worker.once('exit', () => resolve(message))
  })
}
