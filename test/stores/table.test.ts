import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bytesPerKey, type Mover, Table } from '../../src/stores/table.js'
import { runs } from '../support/traces.js'

/** Few different words, so that entries pile up, and those at the end of the table wrap around. */
const word = fc.oneof(
  fc.constantFrom(0, 1, -1, 2 ** 31 - 1, -(2 ** 31), 0x7ff00000, -0x80000),
  fc.integer({ min: -3, max: 3 }),
  fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })
)
const print = fc.tuple(word, word).filter(([low]) => low !== 0)
const act = fc.record({ print, what: fc.constantFrom('add', 'add', 'add', 'remove', 'find') })

const slots = 2
const idOf = (low: number, high: number) => `${low} ${high}`
const numbersAt = (table: Table, place: number) => [
  ...table.cells.subarray(place * table.stride + 1, (place + 1) * table.stride)
]
const copy: Mover = (from, at, to, target) => to.set(from.subarray(at, at + slots), target)

type Known = Map<string, { print: readonly [number, number]; numbers: number[] }>

function expectSame(table: Table, known: Known): void {
  expect(table.used).toBe(known.size)
  for (const { print, numbers } of known.values()) {
    const place = table.find(...print)
    expect(place).toBeGreaterThanOrEqual(0)
    expect(numbersAt(table, place)).toEqual(numbers)
  }
  let used = 0
  for (let place = 0; place < table.size; place++) {
    if (table.isUsed(place)) used++
    else expect(numbersAt(table, place)).toEqual(Array(slots).fill(0))
  }
  expect(used).toBe(known.size)
}

describe('a table', () => {
  it.each([1, 2, 3, 8, 90])('of %i keys holds what a map holds', (maxKeys) => {
    fc.assert(
      fc.property(fc.array(act, { maxLength: 200 }), (acts) => {
        const table = new Table(slots, maxKeys)
        const known: Known = new Map()
        acts.forEach(({ print, what }, i) => {
          const id = idOf(...print)
          const place = table.find(...print)
          expect(place >= 0).toBe(known.has(id))
          if (what === 'add' && place < 0 && known.size < maxKeys) {
            const target = table.insert(...print)
            expect(numbersAt(table, target)).toEqual([0, 0])
            const numbers = [i + 0.5, -i]
            table.cells.set(numbers, target * table.stride + 1)
            known.set(id, { print, numbers })
          } else if (what === 'remove' && place >= 0) {
            table.remove(place)
            known.delete(id)
          }
          if (i % 20 === 0) expectSame(table, known)
        })
        expectSame(table, known)
      }),
      runs(60)
    )
  })

  it('keeps in a rebuild what is not spent, and only that', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(print, { maxLength: 90, selector: ([a, b]) => idOf(a, b) }),
        fc.nat(3),
        (prints, more) => {
          const table = new Table(slots, 100)
          const known: Known = new Map()
          prints.forEach((print, i) => {
            const numbers = [i, i % 3]
            table.cells.set(numbers, table.insert(...print) * table.stride + 1)
            if (i % 3 > 0) known.set(idOf(...print), { print, numbers })
          })
          const isSpent = (place: number) => table.cells[place * table.stride + 2] === 0
          const widerMove: Mover = (from, at, to, target) => copy(from, at, to, target)
          const rebuilt = table.rebuilt(slots + more, 100, isSpent, widerMove)
          expect(rebuilt.stride).toBe(slots + more + 1)
          expect(rebuilt.used).toBe(known.size)
          for (const { print, numbers } of known.values())
            expect(numbersAt(rebuilt, rebuilt.find(...print)).slice(0, slots)).toEqual(numbers)
          for (const print of prints) if (!known.has(idOf(...print))) expect(rebuilt.find(...print)).toBe(-1)
        }
      ),
      runs(80)
    )
  })

  it('never has fewer buckets than keys, nor more than it says', () => {
    for (const maxKeys of [1, 2, 3, 7, 95, 96, 97, 1000, 12_345]) {
      let table = new Table(slots, maxKeys)
      const bytes: number[] = []
      for (let key = 1; key <= maxKeys; key++) {
        if (table.isCrowded) table = table.rebuilt(slots, maxKeys, () => false, copy)
        table.insert(key, Math.imul(key, 0x9e3779b1))
        expect(table.used).toBeLessThan(table.size)
        bytes.push(table.cells.byteLength)
      }
      expect(Math.max(...bytes)).toBeLessThanOrEqual(Math.max(2, maxKeys + 2) * bytesPerKey(slots))
      expect(table.used).toBe(maxKeys)
      for (let key = 1; key <= maxKeys; key++)
        expect(table.find(key, Math.imul(key, 0x9e3779b1))).not.toBe(-1)
    }
  })
})
