import assert from 'node:assert'
import { once } from 'node:events'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { createLimiter } from 'headgate'
import { sharedStore } from 'headgate/shared'

const limiterOn = (store) => createLimiter({ name: 'api', limit: 100, window: '1d', store })

if (isMainThread) {
  const store = sharedStore({ maxKeys: 1000 })
  const worker = new Worker(new URL(import.meta.url), { workerData: store.handle })
  const [inWorker] = await once(worker, 'message')
  assert.deepStrictEqual([inWorker, limiterOn(store).consume('key').remaining], [99, 98])
} else parentPort.postMessage(limiterOn(sharedStore({ from: workerData })).consume('key').remaining)
