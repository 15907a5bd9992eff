import { addresses, contestants } from './contestants.js'
import {
  answer,
  fixed,
  headgate,
  inChild,
  interleaved,
  isChild,
  isMain,
  isQuick,
  median,
  print
} from './harness.js'

/*
 * Bytes allocated by a decision: how far the heap grows over many, with a young generation so large that nothing is
 * collected in between. The last results are kept, so that no compiler leaves them out.
 */

const rounds = isQuick ? 1 : 5
const times = 200_000
const flags = ['--expose-gc', '--max-semi-space-size=256', '--min-semi-space-size=256']
const rule = { limit: 1_000_000_000, window: 60_000 }
const kept = new Array(16)

/** The inner path: no clock, no decision object, the answer in an array that is there already. */
async function innerPath() {
  const { createLimiter, memoryStore } = await headgate()
  const { policies } = createLimiter(rule)
  const counters = memoryStore().open({ policies, named: false })
  const now = Date.now()
  const charge = 1
  return (key) => counters.decide(key, 1, now, policies, charge)
}

async function work(name) {
  const { count, fresh } = addresses(1000)
  const keys = Array.from({ length: count }, (_, i) => fresh(i))
  const hit = await (name === 'inner path' ? innerPath() : contestants[name].make({ ...rule, keys: count }))
  const loop = () => {
    for (let i = 0; i < times; i++) kept[i & 15] = hit(keys[i % count])
  }
  loop()
  loop()
  globalThis.gc()
  const before = process.memoryUsage().heapUsed
  loop()
  return (process.memoryUsage().heapUsed - before) / times
}

export async function run() {
  const names = ['inner path', ...Object.keys(contestants)]
  const found = await interleaved(names, rounds, (name) => inChild(import.meta.url, [name], flags))
  print({
    title: 'bytes allocated a decision',
    columns: ['', 'B'],
    rows: names.map((name) => [name, fixed(median(found[name]), 1)])
  })
  return [
    { what: 'bytes allocated by consume', found: Math.round(median(found.headgate)), target: 64 },
    { what: 'bytes allocated on the inner path', found: Math.round(median(found['inner path'])), target: 0 }
  ]
}

if (isChild) answer(await work(process.argv[2]))
else if (isMain(import.meta.url)) await run()
