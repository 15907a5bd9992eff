import { addresses, contestants, own } from './contestants.js'
import { answer, fixed, inChild, interleaved, isChild, isMain, isQuick, median, print } from './harness.js'

/*
 * Bytes a tracked key, all told: what heap and buffers hold more, after collection, once every client was seen.
 * The text of a key is part of it where the contestant keeps the text.
 */

const rounds = 1
const keys = isQuick ? 100_000 : 1_000_000
const limit = 1000
const windowMs = 3_600_000

const rules = {
  'headgate fixed-window': {},
  'headgate sliding-window': { strategy: 'sliding-window' },
  'headgate token-bucket': { strategy: 'token-bucket' },
  'headgate gcra': { strategy: 'gcra' },
  'headgate leaky-bucket': { strategy: 'leaky-bucket', burst: 9 },
  'headgate sliding-log of 10': { strategy: 'sliding-log', limit: 10 }
}
const rivals = ['floor', 'hitlimit', '@fastify/rate-limit', 'express-rate-limit', 'rate-limiter-flexible']

function held() {
  globalThis.gc()
  globalThis.gc()
  const { heapUsed, external } = process.memoryUsage() // what buffers hold is in `external`
  return heapUsed + external
}

async function work(name) {
  const { fresh } = addresses(keys)
  const rule = rules[name]
  const hit = await (rule
    ? own({ limit, window: windowMs, ...rule }, keys + 1)
    : contestants[name].make({ limit, keys }))
  await hit('warm')
  const before = held()
  for (let i = 0; i < keys; i++) await hit(fresh(i))
  const after = held()
  await hit(fresh(0)) // keeps both in use until here
  return (after - before) / keys
}

export async function run() {
  const names = [...Object.keys(rules), ...rivals]
  const found = await interleaved(names, rounds, (name) => inChild(import.meta.url, [name], ['--expose-gc']))
  print({
    title: `bytes a key, ${keys.toLocaleString('en')} keys`,
    columns: ['', 'B'],
    rows: names.map((name) => [name, fixed(median(found[name]))])
  })
  return [{ what: 'bytes a key', found: median(found['headgate fixed-window']), target: 40 }]
}

if (isChild) answer(await work(process.argv[2]))
else if (isMain(import.meta.url)) await run()
