import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HeldLines, type LineTime, type Turn } from '../../src/http/held-line.js'
import { runs } from '../support/traces.js'

/** Time that a test moves, with the timers that are due in it. */
class ManualTime implements LineTime {
  nowMs = 0
  readonly timers = new Map<unknown, { readonly run: () => void; readonly at: number }>()

  now(): number {
    return this.nowMs
  }

  start(run: () => void, ms: number): unknown {
    const timer = {}
    this.timers.set(timer, { run, at: this.nowMs + ms })
    return timer
  }

  stop(timer: unknown): void {
    this.timers.delete(timer)
  }

  /** Runs what is due within so many ms, in order. */
  pass(ms: number): void {
    const end = this.nowMs + ms
    for (;;) {
      const [next] = [...this.timers].filter(([, { at }]) => at <= end).sort(([, a], [, b]) => a.at - b.at)
      if (next === undefined) break
      const [timer, { run, at }] = next
      this.timers.delete(timer)
      this.nowMs = at
      run()
    }
    this.nowMs = end
  }
}

function setUp() {
  const time = new ManualTime()
  const lines = new HeldLines(time)
  const went: string[] = []
  const join = (name: string, forMs: number, key = 'k') => lines.join(key, forMs, () => went.push(name))
  return { time, lines, went, join }
}

describe('requests that are held', () => {
  it('go on when they are due, with one timer for each key', () => {
    const { time, lines, went, join } = setUp()
    join('a', 100)
    join('b', 200)
    join('c', 300)
    join('x', 150, 'other')
    expect(time.timers.size).toBe(2)
    time.pass(99)
    expect(went).toEqual([])
    time.pass(1)
    expect(went).toEqual(['a'])
    time.pass(100)
    expect(went).toEqual(['a', 'x', 'b'])
    time.pass(100)
    expect(went).toEqual(['a', 'x', 'b', 'c'])
    expect([time.timers.size, lines.held, lines.hasAny('k')]).toEqual([0, 0, false])
  })

  it('never before an earlier one of their key', () => {
    const { time, lines, went, join } = setUp()
    join('a', 1000)
    join('b', 0)
    join('c', 500)
    join('x', 0, 'other')
    expect(lines.waitMs('k', 0)).toBe(1000)
    time.pass(999)
    expect(went).toEqual(['x'])
    time.pass(1)
    expect(went).toEqual(['x', 'a', 'b', 'c'])
  })

  it('as soon as they are due once those before them have left', () => {
    const { time, lines, went, join } = setUp()
    const a = join('a', 1000)
    const b = join('b', 200)
    join('c', 300)
    time.pass(100)
    lines.leave(b)
    expect(lines.held).toBe(2)
    lines.leave(a)
    time.pass(199)
    expect(went).toEqual([])
    time.pass(1)
    expect(went).toEqual(['c'])
    lines.leave(a)
    expect(lines.held).toBe(0)
  })

  it('at once once they are released, and in order', () => {
    const { time, went, lines, join } = setUp()
    join('a', 1000)
    join('b', 3_000_000_000)
    join('x', 5000, 'other')
    lines.release()
    time.pass(0)
    expect(went).toEqual(['a', 'b', 'x'])
    expect(time.timers.size).toBe(0)
  })

  it('what one of them throws keeps none of those behind it', () => {
    const { time, lines, went, join } = setUp()
    lines.join('k', 10, () => {
      throw new Error('of a handler')
    })
    join('b', 10)
    expect(() => time.pass(10)).toThrow('of a handler')
    time.pass(0)
    expect(went).toEqual(['b'])
    expect(lines.held).toBe(0)
  })

  it('may come back, and leave, while others go on', () => {
    const { time, lines, went, join } = setUp()
    let last: Turn | null = null
    lines.join('k', 10, () => {
      went.push('a')
      join('d', 0)
      lines.leave(last!)
    })
    join('b', 10)
    last = join('c', 10)
    time.pass(10)
    expect(went).toEqual(['a', 'b', 'd'])
    expect([lines.held, time.timers.size]).toEqual([0, 0])
  })

  it('a timer that is early, beside a clock that stands, holds nobody up', () => {
    const { time, went, join } = setUp()
    join('a', 100)
    join('b', 150)
    const fire = () => {
      const [[timer, { run }]] = [...time.timers] as unknown as [[unknown, { run: () => void }]]
      time.timers.delete(timer)
      run()
    }
    fire()
    expect(went).toEqual(['a'])
    expect([...time.timers.values()].map(({ at }) => at)).toEqual([50])
    fire()
    expect(went).toEqual(['a', 'b'])
  })

  it('a hold of more than 24.8 days is one, not none', () => {
    const { time, went, join } = setUp()
    join('a', 2 ** 31 + 5)
    time.pass(2 ** 31 - 2)
    expect(went).toEqual([])
  })
})

type Event =
  | { readonly kind: 'join'; readonly key: string; readonly forMs: number }
  | { readonly kind: 'leave'; readonly n: number }
  | { readonly kind: 'pass'; readonly ms: number }

const events: fc.Arbitrary<Event> = fc.oneof(
  fc.record({
    kind: fc.constant('join' as const),
    key: fc.constantFrom('a', 'b', 'c'),
    forMs: fc.constantFrom(0, 1, 5, 20, 100, 1000)
  }),
  fc.record({ kind: fc.constant('leave' as const), n: fc.nat(30) }),
  fc.record({ kind: fc.constant('pass' as const), ms: fc.constantFrom(0, 1, 3, 10, 50, 400) })
)

/** What is known of a request. */
interface Guest {
  readonly key: string
  readonly dueMs: number
  readonly turn: Turn
  wentAt: number | null
  leftAt: number | null
}

describe('whoever comes and leaves', () => {
  it('goes on once, in order, no sooner than due, no later than those before him leave, and never after he left', () => {
    fc.assert(
      fc.property(fc.array(events, { maxLength: 60 }), (trace) => {
        const time = new ManualTime()
        const lines = new HeldLines(time)
        const guests: Guest[] = []
        const join = (key: string, forMs: number) => {
          const turn = lines.join(key, forMs, () => {
            expect([guest.leftAt, guest.wentAt]).toEqual([null, null])
            guest.wentAt = time.nowMs
          })
          const guest: Guest = { key, dueMs: time.nowMs + forMs, turn, wentAt: null, leftAt: null }
          guests.push(guest)
        }
        const leave = (guest: Guest | undefined) => {
          if (guest === undefined) return
          if (guest.wentAt === null) guest.leftAt ??= time.nowMs
          lines.leave(guest.turn)
        }
        for (const event of trace) {
          if (event.kind === 'join') join(event.key, event.forMs)
          else if (event.kind === 'leave') leave(guests[event.n])
          else time.pass(event.ms)
          const waiting = guests.filter(({ wentAt, leftAt }) => wentAt === null && leftAt === null)
          expect(lines.held).toBe(waiting.length)
          expect(time.timers.size).toBe(new Set(waiting.map(({ key }) => key)).size)
        }
        time.pass(10_000)
        expect([lines.held, time.timers.size]).toEqual([0, 0])
        guests.forEach((guest, i) => {
          if (guest.leftAt !== null) return
          const before = guests.slice(0, i).filter(({ key }) => key === guest.key)
          const free = before.map(({ wentAt, leftAt }) => wentAt ?? leftAt!)
          expect(guest.wentAt).toBe(Math.max(guest.dueMs, ...free))
        })
      }),
      runs(500)
    )
  })
})
