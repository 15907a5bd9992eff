import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { build } from 'vite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { luaText } from '../../../.ci/lua-text.js'
import { createLimiter } from '../../../src/index.js'
import { redisStore } from '../../../src/redis/index.js'
import type { PermitWork } from '../support/permit-worker.js'
import { ask } from '../support/servers.js'
import { connected, freshPrefix, servers } from '../support/stores.js'
import { until } from '../support/until.js'

const root = resolve(import.meta.dirname, '../../..')
const folder = join(root, `node_modules/.cache/headgate-permits-${process.pid}`)
const leaseMs = 1000
const concurrency = 10
const children = new Set<ChildProcess>()

beforeAll(async () => {
  const entry = join(import.meta.dirname, '../support/permit-worker.ts')
  await build({
    ...{ configFile: false, plugins: [luaText], root, logLevel: 'error', publicDir: false },
    build: { outDir: folder, ssr: entry, target: 'node20', emptyOutDir: true, minify: false }
  })
}, 60_000)
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  await rm(folder, { recursive: true, force: true })
})

describe.skipIf(servers === null)('processes with permits', () => {
  const connection = connected('ioredis 6', 'single')
  const begin = (prefix: string, kind: PermitWork['kind']) => {
    const child = fork(join(folder, 'permit-worker.js'), { execArgv: [] })
    children.add(child)
    child.once('exit', () => children.delete(child))
    child.send({ port: servers!.single, prefix, concurrency, leaseMs, kind } satisfies PermitWork)
    return child
  }
  const limiterOn = (prefix: string) => {
    const store = redisStore(connection.client, { prefix, leaseMs, deadline: '5s' })
    return createLimiter({ name: 'jobs', concurrency, store })
  }
  const messageOf = async (child: ChildProcess) => ((await once(child, 'message')) as [object])[0]

  it('that are killed at random never hold more than the limit, and free it within a lease', async () => {
    const prefix = freshPrefix()
    const limiter = limiterOn(prefix)
    const running = Array.from({ length: 8 }, () => begin(prefix, 'work'))
    const most = async () => Number(await ask(servers!.single, 'GET', `${prefix}most`))
    await until('they work', async () => (await most()) > 0)
    for (let killed = 0; killed < 6; killed++) {
      const child = running.shift()!
      child.kill('SIGKILL')
      await once(child, 'exit')
      // Dead processes hold nothing any more.
      await ask(servers!.single, 'HDEL', `${prefix}out`, child.pid!)
      running.push(begin(prefix, 'work'))
      const seen = await ask(servers!.single, 'HLEN', `${prefix}out`)
      await until('others work', async () => (await ask(servers!.single, 'HLEN', `${prefix}out`)) !== seen)
    }
    for (const child of running.splice(0, 4)) {
      child.kill('SIGKILL')
      await once(child, 'exit')
      await ask(servers!.single, 'HDEL', `${prefix}out`, child.pid!)
    }
    const told = running.map(messageOf)
    const killedAt = performance.now()
    for (const child of running) child.send('stop')
    for (const answer of await Promise.all(told)) expect(answer).toMatchObject({ lost: 0 })
    await until('all is free', async () => (await limiter.peek('key')).remaining === concurrency)
    // The clock of the server, the poll, and a busy machine.
    expect(performance.now() - killedAt).toBeLessThan(leaseMs + 500)
    expect(await most()).toBeGreaterThan(concurrency / 2)
    expect(await most()).toBeLessThanOrEqual(concurrency)
  }, 60_000)

  it('one of which is stopped for longer than a lease learns it as soon as it goes on', async () => {
    const prefix = freshPrefix()
    const limiter = limiterOn(prefix)
    const holder = begin(prefix, 'hold')
    expect(await messageOf(holder)).toEqual({ isHeld: true })
    expect((await limiter.acquire('key')).allowed).toBe(false)
    holder.kill('SIGSTOP')
    const taken = await until('it is free', async () => {
      const permit = await limiter.acquire('key')
      return permit.allowed ? permit : undefined
    })
    const told = messageOf(holder)
    const resumedAt = performance.now()
    holder.kill('SIGCONT')
    expect(await told).toEqual({ isLost: true })
    expect(performance.now() - resumedAt).toBeLessThan(leaseMs / 3)
    // It knows by its own clock; its next renewal has it counted again.
    await until('it is counted again', async () => (await limiter.peek('key')).remaining === 0)
    taken.release()
    const ended = once(holder, 'exit')
    holder.send('stop')
    await until('all is free', async () => (await limiter.peek('key')).remaining === concurrency)
    expect(await ended).toEqual([0, null])
  }, 30_000)
})
