import { answer, fixed, headgate, inChild, isChild, isMain, isQuick, print } from './harness.js'

/*
 * A flood of ten million keys at a store of a hundred thousand, and what is promised of it: the store takes no more
 * memory than when it was full, sets nobody free who is at the limit, and denies no more newcomers than its width says.
 * test/memory/flood.test.ts has the same with fewer keys.
 */

const maxKeys = 100_000
const newcomers = isQuick ? 1_000_000 : 10_000_000
const stretch = 50_000
const limit = 40
/** Cells in a row of the overflow: a quarter of the keys. */
const width = maxKeys / 4

function held() {
  globalThis.gc()
  globalThis.gc()
  return process.memoryUsage().arrayBuffers
}

async function work() {
  const { createLimiter, memoryStore } = await headgate()
  const now = () => 1_700_000_400_000
  const limiter = createLimiter({ limit, window: '1h', store: memoryStore({ maxKeys }), now })
  const atLimit = (group) => {
    const keys = Array.from({ length: 100 }, (_, i) => `${group} ${i}`)
    for (const key of keys) limiter.consume(key, limiter.peek(key).remaining)
    return keys
  }
  const before = held()
  const owing = atLimit('resident')
  let charged = 0
  let full = 0
  let worstShare = 0
  for (let key = 0; key < newcomers; key += stretch) {
    let denied = 0
    for (let i = key; i < key + stretch; i++) if (!limiter.consume(`flood ${i}`).allowed) denied++
    charged += stretch - denied
    const bound = Math.min(1, (charged / (limit * width)) ** 4)
    worstShare = Math.max(worstShare, denied / stretch / bound)
    if (key !== 2 * maxKeys) continue
    owing.push(...atLimit('overflow'))
    charged += 100 * limit
    full = held() - before
  }
  const freed = owing.filter((key) => limiter.consume(key).allowed).length
  return { growth: (held() - before) / full, worstShare, freed, mib: full / 2 ** 20 }
}

export async function run() {
  const { growth, worstShare, freed, mib } = await inChild(import.meta.url, [], ['--expose-gc'])
  const flood = `${newcomers.toLocaleString('en')} keys at ${maxKeys.toLocaleString('en')}`
  print({
    title: flood,
    columns: ['', 'found'],
    rows: [
      ['MiB held when full', fixed(mib, 1)],
      ['times that at the end', fixed(growth, 3)],
      ['newcomers denied, of the most that is stated', fixed(worstShare, 3)],
      ['set free', freed]
    ]
  })
  return [
    { what: `${flood}: memory, times that of a full store`, found: growth, target: 1.02 },
    { what: `${flood}: newcomers denied, of the most that is stated`, found: worstShare, target: 1 },
    { what: `${flood}: keys at the limit that are set free`, found: freed, target: 0 }
  ]
}

if (isChild) answer(await work())
else if (isMain(import.meta.url)) await run()
