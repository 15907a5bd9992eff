import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { InFlight, roomsOf } from '../../src/shed/in-flight.js'

describe('rooms', () => {
  it.each([
    [200, [0.2, 0, 0], [200, 160, 160]],
    [200, [0.2, 0.3, 0], [200, 160, 100]],
    [200, [0.2, 0.3, 0.5], [200, 160, 100]],
    [10, [0.9, 0], [10, 1]],
    [10, [0.1, 0.2, 0], [10, 9, 7]],
    [3, [0.2, 0], [3, 2]],
    [Number.POSITIVE_INFINITY, [0, 0], [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]]
  ])('of %d with reserves %j are %j', (concurrency, reserves, rooms) => {
    expect(roomsOf({ concurrency, reserves })).toEqual(rooms)
  })
})

/** Requests that come (by their rank) and go (by which of those in flight). */
const traffic = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ comes: fc.nat(2) }) },
    { weight: 2, arbitrary: fc.record({ goes: fc.nat() }) }
  ),
  { maxLength: 200 }
)
const terms = fc
  .record({
    concurrency: fc.integer({ min: 1, max: 60 }),
    parts: fc.tuple(fc.nat(50), fc.nat(30), fc.nat(20))
  })
  .map(({ concurrency, parts }) => ({ concurrency, reserves: parts.map((part) => part / 100) }))

/** Serves traffic, and has `look` see the number in flight of each rank after each step. */
function serve(
  { concurrency, reserves }: { concurrency: number; reserves: readonly number[] },
  steps: readonly ({ comes: number } | { goes: number })[],
  look: (counts: readonly number[], flight: InFlight) => void
): void {
  const flight = new InFlight(roomsOf({ concurrency, reserves }))
  const going: number[] = []
  for (const step of steps) {
    if ('comes' in step) {
      if (flight.hasRoom(step.comes)) {
        flight.enter(step.comes)
        going.push(step.comes)
      }
    } else if (going.length > 0) flight.leave(going.splice(step.goes % going.length, 1)[0]!)
    look(
      [0, 1, 2].map((rank) => going.filter((one) => one === rank).length),
      flight
    )
  }
}

describe('requests in flight', () => {
  it('are never more than the concurrency, and of others never more than what is not reserved', () => {
    fc.assert(
      fc.property(terms, traffic, (given, steps) => {
        const { concurrency, reserves } = given
        serve(given, steps, ([critical, normal, background], flight) => {
          expect(flight.total).toBe(critical! + normal! + background!)
          expect(flight.total).toBeLessThanOrEqual(concurrency)
          const others = concurrency * (1 - reserves[0]!)
          expect(normal! + background!).toBeLessThanOrEqual(others + 1e-6)
          expect(background).toBeLessThanOrEqual(others - concurrency * reserves[1]! + 1e-6)
        })
      })
    )
  })

  it('leave the reserve to whom it is kept for, whatever the others do', () => {
    fc.assert(
      fc.property(terms, traffic, (given, steps) => {
        const { concurrency, reserves } = given
        serve(given, steps, ([critical, normal], flight) => {
          if (critical! + 1 <= concurrency * reserves[0]!) expect(flight.hasRoom(0)).toBe(true)
          if (normal! + critical! + 1 <= concurrency * reserves[1]!) expect(flight.hasRoom(1)).toBe(true)
        })
      })
    )
  })

  it('have room for every priority above one that they have room for', () => {
    fc.assert(
      fc.property(terms, traffic, (given, steps) => {
        serve(given, steps, (_counts, flight) => {
          if (flight.hasRoom(2)) expect(flight.hasRoom(1)).toBe(true)
          if (flight.hasRoom(1)) expect(flight.hasRoom(0)).toBe(true)
        })
      })
    )
  })
})
