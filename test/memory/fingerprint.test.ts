import { describe, expect, it } from 'vitest'
import { Fingerprint } from '../../src/memory/fingerprint.js'
import { Table } from '../../src/memory/table.js'

type Hash = (key: string, out: Int32Array) => void

/** The function under one of the seeds, of which each process has one by chance. */
function seeded(seed: number): Hash {
  const print = new Fingerprint(Int32Array.from({ length: 4 }, (_, i) => scattered(4 * seed + i)))
  return (key, out) => {
    print.of(key)
    out[0] = print.low
    out[1] = print.high
  }
}

/** Numbers that look drawn, and are the same in every run. */
function scattered(i: number): number {
  const mixed = Math.imul((i + 1) ^ ((i + 1) >>> 16), 0x9e3779b1)
  const again = Math.imul(mixed ^ (mixed >>> 15), 0x85ebca77)
  return again ^ (again >>> 13)
}

const fingerprint = seeded(0)

function printOf(key: string, of = fingerprint): bigint {
  const out = new Int32Array(2)
  of(key, out)
  return (BigInt(out[0]! >>> 0) << 32n) | BigInt(out[1]! >>> 0)
}

/** How many fingerprints of `count` keys are not their own. */
function collisions(count: number, keyOf: (i: number) => string, of = fingerprint): number {
  const out = new Int32Array(2)
  const words = new Float64Array(count)
  const bits = new Uint32Array(words.buffer)
  const prints = new BigUint64Array(words.buffer)
  for (let i = 0; i < count; i++) {
    of(keyOf(i), out)
    bits[2 * i] = out[0]!
    bits[2 * i + 1] = out[1]!
  }
  prints.sort()
  let same = 0
  for (let i = 1; i < count; i++) if (prints[i] === prints[i - 1]) same++
  return same
}

const structured: readonly (readonly [string, (i: number) => string])[] = [
  ['counters', (i) => String(i)],
  ['padded counters', (i) => String(i).padStart(10, '0')],
  ['user ids', (i) => `user:${i}:login`],
  ['IPv4 addresses', (i) => `10.${i >>> 16}.${(i >>> 8) & 255}.${i & 255}`],
  ['IPv6 groups', (i) => `2001:db8:${(i >>> 8).toString(16)}:${(i & 255).toString(16)}00::/56`],
  ['UUID-like texts', (i) => `00000000-0000-4000-8000-${i.toString(16).padStart(12, '0')}`],
  ['texts of two letters', (i) => String.fromCharCode(i & 1023, 1024 + (i >>> 10))]
]

/** Keys of one length whose pairs of characters differ in the highest bits, as a sum modulo 2^32 likes least. */
const crafted: readonly (readonly [string, (i: number) => string])[] = [
  ['the highest bit of each pair', (i) => chunks(i, 20, (bit) => (bit ? '\0\u8000' : '\0\0'))],
  [
    'a highest bit and, a pair later, where it went in the first word',
    (i) => chunks(i, 20, (bit) => (bit ? '\0\u8000\u1000\0' : '\0\0\0\0'))
  ],
  [
    'a highest bit and, a pair later, where it went in the second word',
    (i) => chunks(i, 20, (bit) => (bit ? '\0\u8000\0\u0001' : '\0\0\0\0'))
  ],
  [
    'the two highest bits',
    (i) => chunks(i, 10, (bits) => ['\0\0', '\0\u4000', '\0\u8000', '\0\uc000'][bits]!, 2)
  ]
]

function chunks(i: number, count: number, chunkOf: (value: number) => string, bits = 1): string {
  let text = ''
  for (let at = 0; at < count; at++) text += chunkOf((i >>> (at * bits)) & ((1 << bits) - 1))
  return text
}

/** χ² of the places over the cells; its mean is about `cells`, its deviation √(2 · cells). */
function spread(count: number, cells: number, keyOf: (i: number) => string, word: 0 | 1): number {
  const out = new Int32Array(2)
  const hits = new Float64Array(cells)
  for (let i = 0; i < count; i++) {
    fingerprint(keyOf(i), out)
    hits[Math.floor(((out[word]! >>> 0) / 2 ** 32) * cells)]! += 1
  }
  const expected = count / cells
  return hits.reduce((sum, hit) => sum + (hit - expected) ** 2 / expected, 0)
}

function tableOf(count: number, printOf: (i: number) => readonly [number, number]): Table {
  const table = new Table(1, count)
  for (let i = 0; i < count; i++) {
    const [low, high] = printOf(i)
    table.find(low, high)
    table.insert(low, high, () => false)
  }
  return table
}

/** How far a look-up that begins at a place goes until it finds one empty, on the mean of all places and at the most. */
function stepsIn(table: Table): { mean: number; most: number } {
  let sum = 0
  let most = 0
  let places = 0
  for (const segment of table.segments) {
    const { size } = segment
    let steps = 0
    for (let place = 2 * size - 1; place >= 0; place--) {
      steps = segment.isUsed(place % size) ? steps + 1 : 0
      if (place >= size) continue
      sum += steps
      most = Math.max(most, steps)
    }
    places += size
  }
  return { mean: sum / places, most }
}

describe('a fingerprint', () => {
  it('is the same for the same key, and never nothing', () => {
    for (const key of ['a', 'ab', '\0', '\0\0', 'x'.repeat(65_536), '\ud800']) {
      expect(printOf(key)).toBe(printOf(`${key.slice(0, 1)}${key.slice(1)}`))
      expect(printOf(key)).not.toBe(0n)
    }
  })

  it('tells lengths, ends and orders apart', () => {
    const keys = [
      'a',
      'a\0',
      'a\0\0',
      '\0a',
      'ab',
      'ba',
      'abc',
      'acb',
      'abcd',
      'cdab',
      '\0',
      '\0\0',
      '\0\0\0'
    ]
    expect(new Set(keys.map((key) => printOf(key))).size).toBe(keys.length)
  })

  // bench/fingerprint.js has ten times as many, and all of the crafted ones, under seeds of chance.
  it.each(structured)('of two hundred thousand %s is their own', (_, keyOf) => {
    expect(collisions(200_000, keyOf)).toBe(0)
  })

  it.each(crafted)('of keys that differ in %s is their own', (_, keyOf) => {
    // Every eighth has all bits in use.
    expect(collisions(2 ** 17, (i) => keyOf(8 * i + (i & 7)))).toBe(0)
  })

  it.each([...structured, ...crafted])('spreads evenly over places: %s', (_, keyOf) => {
    const cells = 4096
    for (const word of [0, 1] as const)
      expect(spread(100_000, cells, keyOf, word)).toBeLessThan(cells + 8 * Math.sqrt(2 * cells))
  })

  it.each([...structured, ...crafted])(
    'is looked up in less than twice the steps of chance: %s',
    (_, keyOf) => {
      const count = 30_000
      const chance = Int32Array.from({ length: 2 * count }, (_, i) => scattered(i))
      const out = new Int32Array(2)
      const byChance = stepsIn(tableOf(count, (i) => [chance[2 * i]! || 1, chance[2 * i + 1]!]))
      const crafted = tableOf(count, (i) => {
        fingerprint(keyOf(i), out)
        return [out[0]!, out[1]!]
      })
      expect(stepsIn(crafted).mean).toBeLessThan(2 * byChance.mean)
      expect(stepsIn(crafted).most).toBeLessThan(600)
    }
  )

  it('changes about half of its bits with any bit of the key', () => {
    for (const length of [1, 2, 3, 8, 9]) {
      let changed = 0
      let tries = 0
      for (let sample = 0; sample < 40; sample++) {
        const units = Array.from({ length }, (_, i) => (sample * 7919 + i * 104_729) & 0xffff)
        const before = printOf(String.fromCharCode(...units))
        for (let bit = 0; bit < 16 * length; bit++) {
          const flipped = units.with(bit >> 4, units[bit >> 4]! ^ (1 << (bit & 15)))
          const difference = before ^ printOf(String.fromCharCode(...flipped))
          changed += difference.toString(2).replaceAll('0', '').length
          tries++
        }
      }
      expect(changed / tries).toBeGreaterThan(30)
      expect(changed / tries).toBeLessThan(34)
    }
  })

  it('differs under another seed', () => {
    expect(new Set([0, 1, 2, 3].map((seed) => printOf('some key', seeded(seed)))).size).toBe(4)
  })

  it('is sound under many seeds', () => {
    for (let seed = 0; seed < 6; seed++)
      for (const [name, keyOf] of structured) expect(collisions(20_000, keyOf, seeded(seed)), name).toBe(0)
  })
})
