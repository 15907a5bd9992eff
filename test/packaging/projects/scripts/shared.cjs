const { once } = require('node:events')
const { isMainThread, parentPort, Worker, workerData } = require('node:worker_threads')
const assert = require('node:assert')
const { createLimiter } = require('headgate')
const { sharedStore } = require('headgate/shared')

const limiterOn = (store) => createLimiter({ name: 'api', limit: 100, window: '1d', store })

async function main() {
  const store = sharedStore({ maxKeys: 1000 })
  const worker = new Worker(__filename, { workerData: store.handle })
  const [inWorker] = await once(worker, 'message')
  assert.deepStrictEqual([inWorker, limiterOn(store).consume('key').remaining], [99, 98])
}

if (isMainThread) main()
else parentPort.postMessage(limiterOn(sharedStore({ from: workerData })).consume('key').remaining)
