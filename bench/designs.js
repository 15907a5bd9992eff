import { addresses } from './contestants.js'
import {
  answer,
  cpuNs,
  fixed,
  inChild,
  interleaved,
  isChild,
  isMain,
  isQuick,
  median,
  print,
  random
} from './harness.js'

/*
 * The designs that were weighed for the memory store, each as little as it can be: one fixed window, the time given,
 * no decision object. The table won: it keeps no text, so it is the smallest, and past the caches of the processor
 * also the quickest, since a look-up touches one place.
 */

const rounds = isQuick ? 1 : 3
const sizes = isQuick ? [10_000, 100_000] : [10_000, 1_000_000]
const times = isQuick ? 200_000 : 400_000
const windowMs = 60_000

/** The last results, so that no compiler finds that nobody wants them. */
const kept = new Array(16)

const designs = {
  /** A Map from the key to an object. */
  objects() {
    const windows = new Map()
    return (key, now) => {
      let window = windows.get(key)
      if (window === undefined) {
        window = { end: 0, count: 0 }
        windows.set(key, window)
      }
      if (window.end <= now) {
        window.end = now + windowMs
        window.count = 0
      }
      return ++window.count
    }
  },

  /** A Map from the key to a place in typed arrays. */
  'typed columns'(keys) {
    const places = new Map()
    const ends = new Float64Array(keys)
    const counts = new Uint32Array(keys)
    return (key, now) => {
      let place = places.get(key)
      if (place === undefined) {
        place = places.size
        places.set(key, place)
      }
      if (ends[place] <= now) {
        ends[place] = now + windowMs
        counts[place] = 0
      }
      return ++counts[place]
    }
  },

  /** Open addressing, linear probing, a 64-bit fingerprint in place of the key, 3 words of 8 bytes an entry. */
  'fingerprint table'(keys) {
    const size = Math.ceil(keys / 0.75)
    const cells = new Float64Array(size * 3)
    const words = new Int32Array(cells.buffer)
    return (key, now) => {
      const high = hash(key, 0x9e3779b1)
      const low = hash(key, 0x85ebca77) || 1
      let place = Math.floor(((high >>> 0) / 2 ** 32) * size)
      while (words[place * 6] !== low || words[place * 6 + 1] !== high) {
        if (words[place * 6] === 0) {
          words[place * 6] = low
          words[place * 6 + 1] = high
          break
        }
        if (++place === size) place = 0
      }
      const at = place * 3 + 1
      if (cells[at] <= now) {
        cells[at] = now + windowMs
        cells[at + 1] = 0
      }
      return ++cells[at + 1]
    }
  }
}

function hash(key, multiplier) {
  let h = multiplier ^ key.length
  for (let i = 0; i < key.length; i++) {
    h = Math.imul(h ^ key.charCodeAt(i), multiplier)
    h = (h << 13) | (h >>> 19)
  }
  h = Math.imul(h ^ (h >>> 16), 0xc2b2ae35)
  return h ^ (h >>> 15)
}

async function work(name, size) {
  const { fresh } = addresses(size)
  const texts = Array.from({ length: size }, (_, i) => fresh(i))
  const order = Uint32Array.from({ length: times }, random(size))
  const now = Date.now()
  globalThis.gc()
  const before = process.memoryUsage()
  const hit = designs[name](size)
  for (let i = 0; i < size; i++) hit(fresh(i), now)
  globalThis.gc()
  const after = process.memoryUsage()
  const bytes = (after.heapUsed + after.external - before.heapUsed - before.external) / size
  const loop = (keyAt, count) => {
    for (let i = 0; i < count; i++) kept[i & 15] = hit(keyAt(order[i]), now)
  }
  const held = (i) => texts[i]
  loop(held, times / 5)
  const heldNs = await cpuNs(() => loop(held, times), times)
  loop(fresh, times / 5)
  return { held: heldNs, fresh: await cpuNs(() => loop(fresh, times), times), bytes }
}

export async function run() {
  const names = Object.keys(designs)
  for (const size of sizes) {
    const found = await interleaved(names, rounds, (name) =>
      inChild(import.meta.url, [name, size], ['--expose-gc'])
    )
    const of = (name, column) => fixed(median(found[name].map((one) => one[column])))
    print({
      title: `designs of the store, ${size.toLocaleString('en')} keys, making the key included`,
      columns: ['', 'ns, held key', 'ns, fresh key', 'B a key'],
      rows: names.map((name) => [name, of(name, 'held'), of(name, 'fresh'), of(name, 'bytes')])
    })
  }
  return []
}

if (isChild) answer(await work(process.argv[2], Number(process.argv[3])))
else if (isMain(import.meta.url)) await run()
