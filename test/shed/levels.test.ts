import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Levels } from '../../src/shed/levels.js'

const three = () => new Levels({ count: 3, shedsHighest: false })

/** Takes several samples of one pressure. */
function press(levels: Levels, pressure: number, times: number): void {
  for (let i = 0; i < times; i++) levels.step(pressure)
}

function shares(levels: Levels, count = 3): number[] {
  return Array.from({ length: count }, (_, rank) => levels.shareOf(rank))
}

describe('levels', () => {
  it('shed the lowest priority a quarter at a time, then the next, and never the highest', () => {
    const levels = three()
    const seen = Array.from({ length: 10 }, () => {
      levels.step(1)
      return shares(levels)
    })
    expect(seen.slice(0, 5)).toEqual([
      [0, 0, 0.25],
      [0, 0, 0.5],
      [0, 0, 0.75],
      [0, 0, 1],
      [0, 0.25, 1]
    ])
    expect(seen[7]).toEqual([0, 1, 1])
    expect(seen[9]).toEqual([0, 1, 1])
    expect(levels.isFull).toBe(true)
  })

  it('shed the highest last where it may be shed', () => {
    const levels = new Levels({ count: 3, shedsHighest: true })
    press(levels, 1, 8)
    expect([shares(levels), levels.isFull]).toEqual([[0, 1, 1], false])
    press(levels, 1, 4)
    expect([shares(levels), levels.isFull]).toEqual([[1, 1, 1], true])
  })

  it('rise twice as fast from twice the threshold on, and no faster', () => {
    for (const pressure of [2, 10, Number.POSITIVE_INFINITY]) {
      const levels = three()
      levels.step(pressure)
      expect(levels.level).toBe(0.5)
    }
  })

  it('stay where they are from 0.8 to 1, and come back by a twentieth below', () => {
    const levels = three()
    press(levels, 1, 2)
    for (const pressure of [0.8, 0.9, 0.999]) press(levels, pressure, 100)
    expect(levels.level).toBe(0.5)
    levels.step(0.799)
    expect(levels.level).toBe(0.45)
    press(levels, 0, 8)
    expect(levels.level).toBe(0.05)
    press(levels, 0, 8)
    expect(levels.level).toBe(0)
  })

  it('do nothing about what could not be read', () => {
    const levels = three()
    press(levels, 1, 1)
    levels.step(Number.NaN)
    expect(levels.level).toBe(0.25)
  })

  it('shed exactly their share of any number of requests', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 30 }), fc.integer({ min: 1, max: 500 }), (eased, count) => {
        const levels = three()
        press(levels, 1, 8)
        press(levels, 0, eased)
        for (const rank of [0, 1, 2]) {
          const shed = Array.from({ length: count }, () => levels.sheds(rank)).filter(Boolean).length
          expect(shed).toBe(Math.floor(levels.shareOf(rank) * count + 1e-9))
        }
      })
    )
  })

  it('never shed more of a higher priority, and nothing of it before the one below is shed whole', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0, max: 3, noNaN: true })),
        fc.boolean(),
        (samples, shedsHighest) => {
          const levels = new Levels({ count: 4, shedsHighest })
          for (const pressure of samples) {
            levels.step(pressure)
            const now = shares(levels, 4)
            for (let rank = 0; rank < 3; rank++) if (now[rank]! > 0) expect(now[rank + 1]).toBe(1)
            expect(now.reduce((sum, share) => sum + share)).toBeCloseTo(levels.level)
            if (!shedsHighest) expect(now[0]).toBe(0)
          }
        }
      )
    )
  })

  it('pass over priorities that no request has had', () => {
    const levels = three()
    levels.see(0)
    levels.step(1)
    expect(shares(levels)).toEqual([0, 0, 0.25])
    levels.see(1)
    levels.step(1)
    expect([shares(levels), levels.lowestOpen]).toEqual([[0, 0.25, 1], 1])
    press(levels, 0, 4)
    expect(levels.level).toBe(1.05)
    levels.step(0)
    expect([levels.level, levels.lowestOpen]).toEqual([0, 1])
    levels.see(2)
    levels.step(1)
    expect([shares(levels), levels.lowestOpen]).toEqual([[0, 0, 0.25], 2])
  })

  it('do not flap: under a constant load with noise a level turns upwards at most once in six samples', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.2, max: 4, noNaN: true }),
        fc.array(fc.double({ min: -0.05, max: 0.05, noNaN: true }), { minLength: 300, maxLength: 300 }),
        (load, noise) => {
          const levels = three()
          const path = noise.map((error) => {
            // A third of the load is of each priority, and the worker is busy with what is admitted, up to all the time.
            const admitted = load * (1 - shares(levels).reduce((sum, share) => sum + share / 3, 0))
            levels.step((Math.min(1, admitted) / 0.95) * (1 + error))
            return levels.level
          })
          const settled = path.slice(50)
          const moves = settled
            .map((level, i) => level - (settled[i - 1] ?? level))
            .filter((move) => move !== 0)
          const turns = moves.filter((move, i) => move > 0 && i > 0 && moves[i - 1]! < 0).length
          expect(turns).toBeLessThanOrEqual(settled.length / 6 + 1)
          expect(Math.max(...settled) - Math.min(...settled)).toBeLessThanOrEqual(0.75)
        }
      )
    )
  })
})
