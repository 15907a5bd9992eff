import { describe, expect, it, vi } from 'vitest'
import { shed } from '../../src/express/index.js'
import { shed as nestShed } from '../../src/nest/index.js'
import { forgetWarnings } from '../http/behaviour/harness.js'

const refused = (options: unknown): string => {
  try {
    shed(options as never).close()
  } catch (error) {
    return `${(error as { code: string }).code} ${(error as Error).message}`
  }
  return 'accepted'
}

describe('options of shed', () => {
  it.each<[unknown, RegExp]>([
    [undefined, /BAD_OPTION `options` is undefined: give an object/],
    [{}, /BAD_OPTION `shed` has no reason to shed anything: give `concurrency`.*or `health`/],
    [{ priority: () => 'normal' }, /no reason to shed/],
    [{ concurrency: 0.5 }, /`concurrency` is 0.5: give a whole number of at least 1/],
    [{ concurrency: '200' }, /`concurrency` is "200": write it as a number, 200/],
    [{ concurrency: 10, reserve: { critical: 0.7, normal: 0.4 } }, /`reserve` is 1.1: together.*at most 1/],
    [{ concurrency: 10, reserve: { critical: 1 } }, /leaves no request for 'normal'/],
    [{ concurrency: 10, reserve: { critical: -0.1 } }, /`reserve.critical` is -0.1: give a part/],
    [{ concurrency: 10, reserve: { critical: '20%' } }, /`reserve.critical` is "20%"/],
    [{ concurrency: 10, reserve: { critcal: 0.2 } }, /`reserve` is "critcal": did you mean 'critical'\?/],
    [{ concurrency: 10, reserve: { urgent: 0.2 } }, /give one of the `priorities`, 'critical', 'normal'/],
    [
      { concurrency: 10, reserve: { background: 0.5 } },
      /`reserve.background` is 0.5: it is the lowest priority, .* reserve for those above it/
    ],
    [{ concurrency: 10, priorities: ['only'], reserve: { only: 0.5 } }, /`reserve.only` is 0.5: .*lowest/],
    [{ concurrency: 10, reserve: 0.2 }, /`reserve` is 0.2: give the part of each priority/],
    [
      { health: { inFlight: 1 }, reserve: { critical: 0.2 } },
      /`reserve` is an object: it is a part of `concurrency`/
    ],
    [{ concurrency: 1, priorities: [] }, /`priorities` is an array of 0: give a list of names/],
    [{ concurrency: 1, priorities: ['a', ''] }, /`priorities`.*give a list of names/],
    [{ concurrency: 1, priorities: ['a', 'b', 'a'] }, /'a' is in it twice/],
    [{ concurrency: 1, defaultPriority: 'nrmal' }, /`defaultPriority` is "nrmal": did you mean 'normal'\?/],
    [{ concurrency: 1, priority: 'critical' }, /`priority` is "critical": give a function/],
    [{ concurrency: 1, skip: true }, /`skip` is true: give a function/],
    [{ concurrency: 1, onShed: 'no' }, /`onShed` is "no": give a function/],
    [{ concurrency: 1, message: { a: 1 } }, /`message` is an object: give a text or a function/],
    [{ concurrency: 1, shedHighest: 'yes' }, /`shedHighest` is "yes": give true or false/],
    [{ concurrency: 1, shadow: 'yes' }, /`shadow` is "yes"/],
    [{ concurrency: 1, retryAfter: 'soon' }, /`retryAfter` is "soon"/],
    [{ concurrency: 1, healthPaths: '/healthz' }, /`healthPaths` is "\/healthz": give a list/],
    [{ concurrency: 1, healthPaths: ['healthz'] }, /`healthPaths` is "healthz": give whole paths/],
    [{ concurrency: 1, healthPaths: ['/healthz?x'] }, /give whole paths without a query/],
    [{ concurrency: 1, now: 5 }, /`now` is 5: give a function/],
    [{ health: {} }, /`health` is an object: it has no threshold/],
    [{ health: { sampleInterval: '1s' } }, /it has no threshold/],
    [{ health: true }, /`health` is true: give thresholds/],
    [{ health: { eventLoopDelay: 0 } }, /`eventLoopDelay` is 0/],
    [{ health: { eventLoopUtilization: 1.5 } }, /`eventLoopUtilization` is 1.5: give a part/],
    [{ health: { eventLoopUtilization: 0 } }, /`eventLoopUtilization` is 0: give a part/],
    [{ health: { heapUsedBytes: '1GB' } }, /`heapUsedBytes` is "1GB"/],
    [{ health: { rssBytes: 0.5 } }, /`rssBytes` is 0.5/],
    [{ health: { inFlight: 0 } }, /`inFlight` is 0/],
    [{ health: { gauge: 0.5 } }, /`gauge` is 0.5: give a function/],
    [{ health: { gauge: { read: 1 } } }, /`gauge.read` is 1: give a function/],
    [{ health: { gauge: { read: () => 1, max: 0 } } }, /`gauge.max` is 0: give a positive number/],
    [
      { health: { gauge: { raed: () => 1 } } },
      /UNKNOWN_OPTION `raed` is no option of `gauge`: did you mean `read`\?/
    ],
    [{ health: { healthCheck: true } }, /`healthCheck` is true: give a function/],
    [
      { health: { inFlight: 1, healthCheckInterval: '1s' } },
      /`healthCheckInterval` is "1s": it says how often/
    ],
    [
      { health: { eventLoopDlay: 1 } },
      /UNKNOWN_OPTION `eventLoopDlay` is no option of the `health` of `shed`: did you mean `eventLoopDelay`\?/
    ],
    [
      { concurrency: 1, priorites: ['a'] },
      /UNKNOWN_OPTION `priorites` is no option of `shed`: did you mean `priorities`\?/
    ],
    [
      { concurrency: 1, eventLoopDelay: 10 },
      /`eventLoopDelay` is no option of `shed`: it is an option of the `health` of `shed`/
    ],
    [{ concurrency: null }, /`concurrency` is null: give it a value, or leave it out/]
  ])('refuses %j', (options, message) => {
    expect(refused(options)).toMatch(message)
    expect(() => nestShed(options as never)).toThrow()
  })

  it.each([
    [{ concurrency: 1 }],
    [{ concurrency: 10, reserve: { critical: 0.2, normal: 0.3, background: 0 } }],
    [{ concurrency: 10, reserve: {} }],
    [{ concurrency: 10, priorities: ['only'] }],
    [{ concurrency: 10, priorities: ['gold', 'silver'], reserve: { gold: 0.9 }, defaultPriority: 'gold' }],
    [
      {
        health: {
          eventLoopDelay: '100ms',
          sampleInterval: '60d',
          healthCheck: () => true,
          healthCheckInterval: '60d'
        }
      }
    ],
    [{ health: { gauge: { read: () => 5, max: 10 } } }]
  ])('takes %j', (options) => {
    expect(refused(options)).toBe('accepted')
  })

  it('warns of a `retryAfter` that was meant as seconds, and of none that it refuses', () => {
    forgetWarnings()
    const told = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    for (const retryAfter of [0, -5, 0.5, Number.NaN, '0s'])
      expect(refused({ concurrency: 1, retryAfter })).toMatch(/`retryAfter` is/)
    for (const retryAfter of [1000, '50ms']) expect(refused({ concurrency: 1, retryAfter })).toBe('accepted')
    expect(told).not.toHaveBeenCalled()
    expect(refused({ concurrency: 1, retryAfter: 50 })).toBe('accepted')
    expect(told.mock.calls.map(([message]) => message)).toEqual([
      "`retryAfter: 50` is 50 milliseconds. For seconds write `retryAfter: '50s'`; if milliseconds are meant, " +
        "`retryAfter: '50ms'` says so without this warning."
    ])
    told.mockRestore()
  })

  it('refuses to be a middleware itself', () => {
    expect(() => (shed as unknown as (...all: object[]) => void)({}, {}, {})).toThrow(
      '`shed` itself was used as a middleware'
    )
  })

  it('has names of priorities checked by the compiler', () => {
    const make = () => {
      shed({ concurrency: 10, priorities: ['gold', 'tin'], priority: () => 'gold', reserve: { gold: 0.1 } })
      shed({ concurrency: 10, priority: (req) => (req.path === '/pay' ? 'critical' : undefined) })
      // @ts-expect-error: no such name
      shed({ concurrency: 10, priorities: ['gold', 'tin'], priority: () => 'silver' })
      // @ts-expect-error: no such name
      shed({ concurrency: 10, reserve: { urgent: 0.2 } })
      // @ts-expect-error: no such name
      shed({ concurrency: 10, priorities: ['gold', 'tin'], defaultPriority: 'normal' })
    }
    expect(make).toBeTypeOf('function')
  })
})
