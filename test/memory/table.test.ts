import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Mover, Segment } from '../../src/memory/segment.js'
import { bytesPerKey, type IsSpent, Table } from '../../src/memory/table.js'
import { runs } from '../support/traces.js'

/** Few different words, so that entries pile up, and those at the end of a segment wrap around. */
const word = fc.oneof(
  fc.constantFrom(0, 1, -1, 2 ** 31 - 1, -(2 ** 31), 0x7ff00000, -0x80000),
  fc.integer({ min: -3, max: 3 }),
  fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })
)
const print = fc.tuple(word, word).filter(([low]) => low !== 0)
const act = fc.record({ print, what: fc.constantFrom('add', 'add', 'add', 'remove', 'find') })
type Print = readonly [number, number]

const idOf = ([low, high]: Print) => `${low} ${high}`
const never = () => false
const numbersAt = (segment: Segment, place: number) => [
  ...segment.cells.subarray(segment.baseOf(place), segment.baseOf(place) + 2)
]
/** The numbers of a fingerprint that is there. */
function numbersOf(table: Table, print: Print): number[] {
  const place = table.find(...print)
  return numbersAt(table.segment, place)
}

/** So many numbers that a segment holds few entries, and a table of a hundred has many segments. */
const wide = 4000

function add(table: Table, print: Print, numbers: readonly number[], isSpent: IsSpent = never): void {
  const place = table.insert(...print, isSpent)
  expect(numbersAt(table.segment, place)).toEqual([0, 0])
  table.segment.cells.set(numbers, table.segment.baseOf(place))
}

function expectSame(table: Table, known: Map<string, { print: Print; numbers: number[] }>): void {
  expect(table.used).toBe(known.size)
  for (const { print, numbers } of known.values()) {
    expect(table.find(...print)).toBeGreaterThanOrEqual(0)
    expect(numbersOf(table, print)).toEqual(numbers)
  }
  let used = 0
  for (const segment of table.segments) {
    expect(segment.used + segment.tombstones).toBeLessThan(segment.size)
    for (let place = 0; place < segment.size; place++) {
      if (segment.isUsed(place)) used++
      else expect(numbersAt(segment, place)).toEqual([0, 0])
    }
  }
  expect(used).toBe(known.size)
}

const spread = (count: number): Print[] =>
  Array.from({ length: count }, (_, i) => [Math.imul(i + 1, 0x85ebca6b), Math.imul(i + 1, 0x9e3779b1)])

describe('a table', () => {
  it.each([
    [2, 1],
    [2, 3],
    [2, 90],
    [wide, 8],
    [wide, 90]
  ])('of %i numbers an entry and %i keys holds what a map holds', (slots, maxKeys) => {
    fc.assert(
      fc.property(fc.array(act, { maxLength: 200 }), (acts) => {
        const table = new Table(slots, maxKeys)
        const known = new Map<string, { print: Print; numbers: number[] }>()
        acts.forEach(({ print, what }, i) => {
          const place = table.find(...print)
          expect(place >= 0).toBe(known.has(idOf(print)))
          if (what === 'add' && place < 0 && known.size < maxKeys) {
            const numbers = [i + 0.5, -i]
            add(table, print, numbers)
            known.set(idOf(print), { print, numbers })
          } else if (what === 'remove' && place >= 0) {
            table.remove(table.segment, place)
            known.delete(idOf(print))
          }
          if (i % 20 === 0) expectSame(table, known)
        })
        expectSame(table, known)
      }),
      runs(slots === wide ? 15 : 60)
    )
  })

  it.each([2, wide])('of %i numbers an entry drops what is spent as it grows, and only that', (slots) => {
    const table = new Table(slots, 1000)
    const isSpent = (cells: Float64Array, base: number) => cells[base + 1] === 0
    const prints = spread(600)
    prints.forEach((print, i) => {
      expect(table.find(...print)).toBe(-1)
      add(table, print, [i, i % 3], isSpent)
    })
    prints.forEach((print, i) => {
      if (i % 3 > 0) expect(numbersOf(table, print)).toEqual([i, i % 3])
    })
    const held = table.used
    expect(held).toBeGreaterThanOrEqual(400)
    expect(held).toBeLessThan(600)
    table.purge(isSpent)
    expect(table.used).toBe(400)
    for (const [i, print] of prints.entries()) expect(table.find(...print) >= 0).toBe(i % 3 > 0)
  })

  it.each([
    [2, 3, 600],
    [2, wide, 300],
    [wide, wide + 100, 300]
  ])('of %i numbers an entry is laid out anew for %i', (slots, wider, count) => {
    const table = new Table(slots, 1000)
    const prints = spread(count)
    prints.forEach((print, i) => {
      table.find(...print)
      add(table, print, [i, -i])
    })
    const move: Mover = (from, at, to, target) => {
      to[target] = from[at + 1]!
      to[target + 1] = from[at]!
    }
    const laid = table.widened(wider, 1000, move)
    expect(laid.used).toBe(count)
    prints.forEach((print, i) => {
      expect(laid.find(...print)).toBeGreaterThanOrEqual(0)
      expect(laid.segment.stride).toBe(wider + 1)
      expect(numbersOf(laid, print)).toEqual([-i, i])
    })
  })

  it('holds a crowd of fingerprints that agree in all bits by which segments are told apart', () => {
    const table = new Table(wide, 1000)
    const prints: Print[] = Array.from({ length: 200 }, (_, i) => [7, Math.imul(i, 0x9e3779b1)])
    prints.forEach((print, i) => {
      expect(table.find(...print)).toBe(-1)
      add(table, print, [i, i])
    })
    for (const [i, print] of prints.entries()) expect(numbersOf(table, print)).toEqual([i, i])
  })

  it('takes no more bytes than it says, and gives them back as few keys come after many', () => {
    const count = 300_000
    const table = new Table(2, count)
    const bytes = () => [...table.segments].reduce((sum, { cells }) => sum + cells.byteLength, 0)
    const enter = (print: Print) => {
      table.find(...print)
      table.insert(...print, never)
    }
    const prints = spread(count)
    for (const [i, print] of prints.entries()) {
      enter(print)
      if (i > 1000 && i % 10_000 === 0) expect(bytes()).toBeLessThan(1.05 * table.used * bytesPerKey(2))
    }
    const missing = prints.filter((print) => table.find(...print) < 0)
    expect(missing).toEqual([])
    const leave = (print: Print) => {
      const place = table.find(...print)
      table.remove(table.segment, place)
    }
    prints.forEach(leave)
    expect(table.used).toBe(0)
    for (const [low, high] of prints) {
      const other: Print = [low ^ 0x5bd1e995, high]
      enter(other)
      leave(other)
    }
    expect(bytes()).toBeLessThan(100_000)
  })
})

describe('a segment', () => {
  it.each([2, 3, 7, 128, 1000, 10_922])('of %i places is walked whole', (size) => {
    const segment = new Segment(1, size, 0)
    expect(new Set(Array.from({ length: size }, () => segment.next())).size).toBe(size)
  })
})
