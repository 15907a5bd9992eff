import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Framework, servers, start } from '../harness.js'

const count = 5000

/** Bits of forwarded fields: addresses good and bad, separators, quotes, what other fields hold. */
const pieces = fc.oneof(
  fc.constantFrom(
    ...[
      '203.0.113.1',
      '10.0.0.1',
      '127.0.0.1',
      '::1',
      '[::1]',
      '[2001:db8::1]:80',
      '::ffff:127.0.0.1',
      '0x7f.1'
    ],
    ...[
      'unknown',
      '_hidden',
      ',',
      ', ',
      ',,',
      ';',
      '=',
      '"',
      '\\',
      '\\"',
      'for=',
      'For=',
      'by=',
      'proto=http',
      '%'
    ],
    ...[
      '127.0.0.1:',
      '127.0.0.1:99999',
      '[',
      ']',
      '::',
      ':',
      '%eth0',
      '\t',
      ' ',
      '__proto__',
      '<b>',
      '1e9',
      '-1'
    ]
  ),
  fc.ipV4(),
  fc.ipV6(),
  fc.string({
    unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code === 0x7f ? 0x20 : code))
  })
)
const field = fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join('').trim())

function fields(seed: number): string[] {
  return fc.sample(field, { numRuns: count, seed })
}

/** Many connections, so that many requests are under way at once. */
async function spread(
  run: (lines: readonly (readonly string[])[]) => Promise<number[]>,
  requests: readonly (readonly string[])[]
): Promise<number[]> {
  const size = Math.ceil(requests.length / 4)
  const parts = [0, 1, 2, 3].map((i) => run(requests.slice(i * size, (i + 1) * size)))
  return (await Promise.all(parts)).flat()
}

function admitted(statuses: readonly number[]): number {
  return statuses.filter((status) => status === 200).length
}

/** Ten thousand forwarded fields as an attacker writes them, through a proxy that is trusted. */
export function hostileAddresses(framework: Framework): void {
  const run = servers(framework)
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void

  describe('hostile forwarded fields', () => {
    it('X-Forwarded-For: what stands left of the proxy’s own entry never matters', async () => {
      const app = await run({
        global: { limit: 1, window: '1m', now: () => start },
        trustProxy: 'loopback',
        collectErrors: true
      })
      const lines = fields(1).map((text, i) =>
        i % 2 === 0
          ? [`X-Forwarded-For: ${text}, 203.0.113.9`]
          : [`X-Forwarded-For: ${text}`, 'X-Forwarded-For: 203.0.113.9']
      )
      collect()
      const before = process.memoryUsage().heapUsed
      const statuses = await spread((part) => app.pipelined(part), lines)
      collect()
      const grown = process.memoryUsage().heapUsed - before
      expect(statuses).toHaveLength(count)
      expect(new Set(statuses)).toEqual(new Set([200, 429]))
      expect(admitted(statuses)).toBe(1)
      expect(app.errors).toEqual([])
      expect(grown).toBeLessThan(8e6)
    })

    it('Forwarded: the proxy’s own element, or the peer where the client broke the field', async () => {
      const app = await run({
        global: { limit: 1, window: '1m', now: () => start, forwarded: 'forwarded' },
        trustProxy: 'loopback',
        collectErrors: true
      })
      const lines = fields(2).map((text, i) =>
        i % 2 === 0
          ? [`Forwarded: ${text}, for=203.0.113.9`]
          : [`Forwarded: ${text}`, 'Forwarded: for=203.0.113.9']
      )
      const statuses = await spread((part) => app.pipelined(part), lines)
      expect(statuses).toHaveLength(count)
      expect(new Set(statuses)).toEqual(new Set([200, 429]))
      expect(admitted(statuses)).toBeLessThanOrEqual(2)
      expect(app.errors).toEqual([])
    })
  })
}
