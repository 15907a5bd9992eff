import { likeAnApp } from './app.js'
import { addresses, contestants, own } from './contestants.js'
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
const inApp = 'headgate in an app'
const strategies = Object.fromEntries(
  ['sliding-window', 'token-bucket', 'gcra'].map((strategy) => [
    `headgate, ${strategy}`,
    { strategy, limit: 1_000_000 }
  ])
)

/** The inner path: no clock, no decision object, the answer in an array that is there already. */
async function innerPath() {
  const { createLimiter, memoryStore } = await headgate()
  const { policies } = createLimiter(rule)
  const buckets = memoryStore().open({ policies, named: false })
  const now = Date.now()
  const take = { kind: 'take', countDenied: false, blockMs: 0 }
  return (key) => buckets.decide(take, key, 1, now, policies)
}

function hitOf(name, keys) {
  if (name === 'inner path') return innerPath()
  if (name === inApp) return likeAnApp().then(() => own(rule, keys))
  if (name in strategies) return own({ ...rule, ...strategies[name] }, keys)
  return contestants[name].make({ ...rule, keys })
}

async function work(name) {
  const { count, fresh } = addresses(1000)
  const keys = Array.from({ length: count }, (_, i) => fresh(i))
  const hit = await hitOf(name, count)
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
  const names = ['inner path', inApp, ...Object.keys(strategies), ...Object.keys(contestants)]
  const found = await interleaved(names, rounds, (name) => inChild(import.meta.url, [name], flags))
  print({
    title: 'bytes allocated a decision',
    columns: ['', 'B'],
    rows: names.map((name) => [name, fixed(median(found[name]), 1)])
  })
  const own = ['headgate', inApp, ...Object.keys(strategies)]
  return [
    ...own.map((name) => ({
      what: `bytes allocated by consume, ${name}`,
      found: Math.round(median(found[name])),
      target: 80
    })),
    { what: 'bytes allocated on the inner path', found: Math.round(median(found['inner path'])), target: 0 }
  ]
}

if (isChild) answer(await work(process.argv[2]))
else if (isMain(import.meta.url)) await run()
