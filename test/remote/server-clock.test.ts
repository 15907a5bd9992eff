import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ServerClock } from '../../src/remote/time/server-clock.js'

/** One answer: how long the request was on its way, the reply, and how long it lay there unread; then a pause. */
const answer = fc.record({
  requestMs: fc.double({ min: 0, max: 200, noNaN: true }),
  replyMs: fc.double({ min: 0, max: 200, noNaN: true }),
  unreadMs: fc.double({ min: 0, max: 5000, noNaN: true }),
  pauseMs: fc.integer({ min: 0, max: 100_000 })
})

type Answer = typeof answer extends fc.Arbitrary<infer T> ? T : never

/** Lets a clock hear of answers by a server whose clock is `ahead` by so much; gives the time that it is then. */
function hear(clock: ServerClock, answers: readonly Answer[], ahead: number, from: number): number {
  let now = from
  for (const { requestMs, replyMs, unreadMs, pauseMs } of answers) {
    const askedAt = now
    const told = Math.floor(askedAt + requestMs + ahead)
    clock.note(told, askedAt, requestMs + replyMs)
    now += requestMs + replyMs + unreadMs + pauseMs
  }
  return now
}

const prompt = { requestMs: 0.2, replyMs: 0.2, unreadMs: 0, pauseMs: 1 }
const aheadOf = fc.integer({ min: -1e12, max: 1e12 })

describe('what is known of a server’s clock', () => {
  it('is never ahead of it, however late answers are read', () => {
    fc.assert(
      fc.property(aheadOf, fc.array(answer, { minLength: 1, maxLength: 20 }), (ahead, answers) => {
        const clock = new ServerClock(0)
        hear(clock, answers, ahead, 1000)
        expect(clock.ahead).toBeLessThanOrEqual(ahead + 1e-3)
      })
    )
  })

  it('is exact to a millisecond once an answer was prompt, whatever came before or after', () => {
    fc.assert(
      fc.property(aheadOf, fc.array(answer), fc.array(answer), (ahead, before, after) => {
        const clock = new ServerClock(0)
        const now = hear(clock, before, ahead, 1000)
        hear(clock, [prompt, ...after], ahead, now)
        expect(clock.ahead).toBeGreaterThanOrEqual(ahead - 1.5)
      })
    )
  })

  it('follows a clock that was set', () => {
    const step = fc.oneof(fc.integer({ min: -1e6, max: -1000 }), fc.integer({ min: 1000, max: 1e6 }))
    fc.assert(
      fc.property(aheadOf, step, fc.array(answer), (ahead, by, answers) => {
        const clock = new ServerClock(0)
        const now = hear(clock, [...answers, prompt], ahead, 1000)
        hear(clock, [prompt, prompt], ahead + by, now)
        expect(Math.abs(clock.ahead - ahead - by)).toBeLessThanOrEqual(1.5)
      })
    )
  })
})
