import { connect, createServer } from 'node:net'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import Fastify from 'fastify'
import rateLimit from 'headgate/fastify'
import { sharedStore } from 'headgate/shared'

const threads = 4

// One thread makes the store and hands the connections around; the others attach to it, and serve.
if (isMainThread) await main()
else await serve(workerData)

async function main() {
  const { handle } = sharedStore({ maxKeys: 100_000 })
  const workers = Array.from(
    { length: threads },
    () => new Worker(new URL(import.meta.url), { workerData: handle })
  )
  const ports = await Promise.all(
    workers.map((worker) => new Promise((resolve) => worker.once('message', resolve)))
  )
  let turn = 0
  // A thread cannot be handed a socket: each connection is piped to the next thread's own port.
  const server = createServer((client) => {
    const thread = connect(ports[turn++ % threads], '127.0.0.1')
    client.pipe(thread).pipe(client)
    client.on('error', () => thread.destroy())
    thread.on('error', () => client.destroy())
  })
  const port = process.env.PORT ?? 3000
  server.once('error', (error) => {
    console.error(`Cannot listen on port ${port}, set PORT to another one: ${error.message}`)
    process.exit(1)
  })
  server.listen(Number(port), '127.0.0.1', () => {
    const url = `http://127.0.0.1:${server.address().port}`
    console.log(`Listening on ${url}. Try, with what each line answers:

curl -i -H 'X-Api-Key: blue' '${url}/?try=[1-6]'  # 200, 200, 200, 200, 200, 429 with Retry-After
curl -i -H 'X-Api-Key: green' ${url}/  # 200 with RateLimit-Remaining: 4
`)
  })
}

async function serve(from) {
  const app = Fastify()
  await app.register(rateLimit, {
    name: 'api',
    limit: 5,
    window: '1m',
    strategy: 'gcra',
    key: 'header:x-api-key',
    store: sharedStore({ from })
  })
  app.get('/', async () => 'hello\n')
  await app.listen({ port: 0, host: '127.0.0.1' })
  parentPort.postMessage(app.server.address().port)
}
