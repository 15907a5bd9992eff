import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { failings, printedLines, start } from '../examples/curl-lines.js'
import { buildCopy } from '../packaging/build.js'
import { type Server, startSingle } from './support/servers.js'
import { servers } from './support/stores.js'
import { until } from './support/until.js'

const timeout = 120_000
const examples = ['redis/express', 'redis/fastify']
let folder: string
let redis: Server
const processes: ChildProcess[] = []

/** An example that listens. */
interface Running {
  readonly process: ChildProcess
  readonly url: string
  readonly lines: readonly string[]
  /** What it has written there, once it has ended. */
  readonly stderr: Promise<string>
}

describe.skipIf(servers === null)('examples/redis', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headgate-redis-example-'))
    await buildCopy(folder)
    redis = await startSingle()
  }, timeout)

  // A test that fails may leave it down.
  beforeEach(() => redis.restart())

  afterAll(async () => {
    for (const process of processes) process.kill('SIGKILL')
    await redis?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  it('counts one limit on both servers, goes on without Redis, and comes back', { timeout }, async () => {
    const [express, fastify] = [await run(examples[0]!), await run(examples[1]!)]
    // What the second server says holds only if it counts what the first has let through.
    for (const line of [...express.lines, ...fastify.lines]) expect(await failings(line), line).toEqual([])

    await redis.kill9()
    for (const { url } of [express, fastify]) {
      const answers = [await ask(url), await ask(url), await ask(url), await ask(url)]
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429])
      expect(answers[0]!.body).toBe('hello, by local\n')
      expect(await health(url)).toEqual({ redis: false })
    }

    await redis.restart()
    for (const { url } of [express, fastify]) {
      await answersByStore(url)
      expect(await health(url)).toEqual({ redis: true })
    }
    // Redis has lost all, and is charged for the three of each.
    expect(await admitted(express.url)).toBeLessThan(3)
    for (const { process, stderr } of [express, fastify]) {
      process.kill()
      expect(await stderr).toContain('HeadgateWarning')
    }
  })

  it.each(examples)('%s stops in order, whether Redis answers or hangs', { timeout }, async (example) => {
    for (const hangs of [false, true]) {
      const { process, stderr } = await run(example)
      if (hangs) redis.pause()
      const exit = once(process, 'exit')
      process.kill('SIGTERM')
      expect(await exit).toEqual([0, null])
      expect(await stderr).toBe('')
      redis.resume()
    }
  })

  // No parser of YAML is among the dependencies.
  it('has a docker-compose.yml that runs the same files', async () => {
    const compose = await readFile(join(folder, 'examples/redis/docker-compose.yml'), 'utf8')
    const commands = [...compose.matchAll(/^ {4}command: node (.+)$/gm)].map(([, file]) => file)
    expect(commands).toEqual(examples.map((name) => `examples/${name}.js`))
    expect(compose).not.toContain('\t')
  })
})

async function run(example: string): Promise<Running> {
  const process = start(folder, example, { REDIS_URL: `redis://127.0.0.1:${redis.port}` })
  processes.push(process)
  const stderr = text(process.stderr!)
  const lines = await printedLines(process)
  expect(lines.length).toBe(3)
  const url = /http:\/\/[\d.:]+/.exec(lines[0]!)![0]
  await answersByStore(url)
  return { process, url, lines, stderr }
}

let asked = 0

/** Waits until a server's client is connected, and Redis in use. */
async function answersByStore(url: string): Promise<void> {
  await until('the store answers', async () => (await ask(url, `${asked++}`)).body === 'hello, by store\n')
}

async function ask(url: string, key = 'outage'): Promise<{ status: number; body: string }> {
  const response = await fetch(url, { headers: { 'x-api-key': key } })
  return { status: response.status, body: await response.text() }
}

async function health(url: string): Promise<unknown> {
  return (await fetch(`${url}/health`)).json()
}

/** How many requests are let through before one is denied. */
async function admitted(url: string): Promise<number> {
  for (let count = 0; ; count++) if ((await ask(url)).status === 429) return count
}
