import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { failings, printedLines, start } from '../examples/curl-lines.js'
import { buildCopy } from '../packaging/build.js'
import { type Server, startSingle } from './support/servers.js'
import { servers } from './support/stores.js'
import { until } from './support/until.js'

const timeout = 120_000
let folder: string
let redis: Server
const running: ChildProcess[] = []

describe.skipIf(servers === null)('examples/redis', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headgate-redis-example-'))
    await buildCopy(folder)
    redis = await startSingle()
  }, timeout)

  afterAll(async () => {
    for (const server of running) server.kill('SIGKILL')
    await redis.stop()
    await rm(folder, { recursive: true, force: true })
  })

  it('counts one limit on both servers, goes on without Redis, and comes back', { timeout }, async () => {
    const REDIS_URL = `redis://127.0.0.1:${redis.port}`
    const urls: string[] = []
    for (const name of ['express', 'fastify']) {
      const server = start(folder, `redis/${name}`, { REDIS_URL })
      running.push(server)
      const lines = await printedLines(server)
      expect(lines.length).toBe(3)
      for (const line of lines) expect(await failings(line), line).toEqual([])
      urls.push(/http[^/]+\/\/[^/]+/.exec(lines[0]!)![0])
    }
    await redis.kill9()
    for (const url of urls) expect(await sourceBy(url, 'local')).toBe(true)
    expect(await health(urls)).toEqual([false, false])
    await redis.restart()
    for (const url of urls) expect(await sourceBy(url, 'store')).toBe(true)
    expect(await health(urls)).toEqual([true, true])
    for (const server of running) {
      server.kill('SIGTERM')
      expect((await once(server, 'exit'))[0]).toBe(0)
    }
  })
})

/** Asks until a server answers by a source; fails where a request is not answered. */
async function sourceBy(url: string, source: string): Promise<boolean> {
  let asked = 0
  return until(`an answer by ${source}`, async () => {
    const response = await fetch(url, { headers: { 'x-api-key': `${source}-${asked++}` } })
    expect(response.status).toBe(200)
    const isMeant = (await response.text()) === `hello, by ${source}\n`
    // The breaker opens after some failures in a row.
    return isMeant && (await health([url]))[0] === (source === 'store')
  })
}

function health(urls: readonly string[]): Promise<unknown[]> {
  return Promise.all(
    urls.map(async (url) => ((await (await fetch(`${url}/health`)).json()) as { redis: boolean }).redis)
  )
}
