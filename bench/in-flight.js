import {
  answer,
  cpuNs,
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
 * ns to take permits and to give them back, in memory, beside a decision of a fixed window; keys are texts that are held.
 */

const rounds = isQuick ? 3 : 15
const times = isQuick ? 100_000 : 300_000
const unlimited = 1_000_000_000
const workloads = { hot: 1, '10 k': 10_000 }

/** What is done with a key, by the name of who does it. */
async function contestants() {
  const { createLimiter } = await headgate()
  const window = createLimiter({ limit: unlimited, window: '1m' })
  const windows = createLimiter({
    limits: [
      { limit: unlimited, window: '1m' },
      { limit: unlimited, window: '1h' }
    ]
  })
  const inFlight = createLimiter({ concurrency: unlimited })
  const both = createLimiter({ limits: [{ limit: unlimited, window: '1m' }, { concurrency: unlimited }] })
  const held = []
  return {
    'a window': (key) => window.consume(key),
    'in flight: acquire and release': (key) => inFlight.acquire(key).release(),
    // As in a server: many are out at once, and come back in another order.
    'in flight: 64 at once': (key) => {
      if (held.length === 64) for (const permit of held.splice(0)) permit.release()
      held.push(inFlight.acquire(key))
    },
    'two windows': (key) => windows.consume(key),
    'a window and in flight': (key) => both.acquire(key).release()
  }
}

async function measure(count) {
  const made = await contestants()
  const keys = Array.from({ length: count }, (_, i) => `user:${i}`)
  const loop = (hit) => {
    for (let i = 0; i < times; i++) hit(keys[i % count])
  }
  for (const hit of Object.values(made)) loop(hit)
  const found = await interleaved(Object.keys(made), rounds, (name) => cpuNs(() => loop(made[name]), times))
  return Object.fromEntries(Object.entries(found).map(([name, all]) => [name, median(all)]))
}

export async function run() {
  const found = {}
  for (const [workload, count] of Object.entries(workloads))
    found[workload] = await inChild(import.meta.url, [String(count)])
  const names = Object.keys(found.hot)
  print({
    title: 'in flight: ns a decision',
    columns: ['', ...Object.keys(workloads)],
    rows: names.map((name) => [
      name,
      ...Object.keys(workloads).map((workload) => fixed(found[workload][name], 0))
    ])
  })
  return Object.entries(found).map(([workload, ns]) => ({
    what: `in flight, ${workload}: acquire and release, of a window's decision`,
    found: ns['in flight: acquire and release'] / ns['a window'],
    target: 2
  }))
}

if (isChild) answer(await measure(Number(process.argv[2])))
else if (isMain(import.meta.url)) await run()
