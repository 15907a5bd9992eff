import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { rateLimit } from '../../src/express/index.js'
import { createLimiter } from '../../src/index.js'
import { type Backend, type Decide, remoteStore } from '../../src/remote/index.js'

/*
 * A process whose store fails: it changes keys by hand and by requests, and awaits nothing, or everything. It tells what
 * it has learned, if it lives to do so.
 */
const isAwaited = process.argv[2] === 'awaited'
let isDown = false
const rows = new Map<string, string>()
const backend: Backend = {
  ...{ name: 'the database', shardOf: () => 0, nodeOf: () => '' },
  // biome-ignore lint/correctness/useYield: a database that is down has no steps
  async *clear() {
    if (isDown) throw new Error('down')
  },
  open: () => ({
    async update(key: string, decide: Decide) {
      if (isDown) throw new Error('down')
      const change = decide(rows.get(key) ?? '', Date.now())
      if (change !== null) rows.set(key, change.text)
    }
  })
}
const learned: string[] = []
const learn = (what: string, promise: unknown) =>
  isAwaited
    ? Promise.resolve(promise as Promise<unknown>).then(
        () => learned.push(`${what}: done`),
        ({ code }) => learned.push(`${what}: ${code}`)
      )
    : undefined

const store = remoteStore(backend, { onStateChange() {}, breaker: { failures: 2, cooldown: '1h' } })
const limiter = createLimiter({ name: 'by hand', limit: 5, window: '1h', store })
const limit = rateLimit({ name: 'of requests', limit: 5, window: '1h', store })
const app = express()
app.get('/', limit, async (request, response) => {
  isDown = true
  await learn('request.rateLimit.refund', request.rateLimit!.refund())
  response.send('served')
})
const server = app.listen(0, '127.0.0.1')
await once(server, 'listening')
await limiter.consume('key')
const { port } = server.address() as AddressInfo
const answer = await (await fetch(`http://127.0.0.1:${port}`)).text()
for (let round = 0; round < 3; round++) {
  await learn('refund', limiter.refund('key'))
  await learn('reset', limiter.reset('key'))
  await learn('block', limiter.block('key', '1m'))
  await learn('clear', limiter.clear())
  await learn('store.clear', store.clear())
  await learn('limit.limiter.reset', limit.limiter.reset({ ip: '203.0.113.7' }))
  await new Promise((go) => setTimeout(go, 20))
}
server.close()
server.closeAllConnections()
process.stdout.write(JSON.stringify({ answer, learned: [...new Set(learned)] }))
