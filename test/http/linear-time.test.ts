import { describe, expect, it } from 'vitest'
import { canonicalAddress } from '../../src/http/address.js'
import { clientOf, hopByHop, type PeerSocket } from '../../src/http/client-address.js'

const proxy: PeerSocket = {
  remoteAddress: '127.0.0.1',
  server: { address: () => ({ address: '::', family: 'IPv6', port: 80 }) }
}
const loopback = hopByHop((hop) => hop === '127.0.0.1')

/** Forwarded fields of so many characters, of what readers like least. */
function fields(length: number): readonly string[] {
  const parts = [',', ', ', ' ', '\t', 'a', '1', ':', '::', '[', '%', '"', '\\', 'for=', 'for=1.1.1.1,']
  const more = ['for="', ';', 'a=b;', '::1%', '1.1.1.1:_', 'for="\\']
  return [
    ...[...parts, ...more].map((part) => part.repeat(length / part.length)),
    `for="${'\\a'.repeat(length / 2)}`,
    `for="${'a'.repeat(length)}"`,
    `1.1.1.1:_${'a'.repeat(length)}\n`,
    Array.from({ length: length / 8 }, (_, at) => `p${at}=1`).join(';'),
    `1::${'%'.repeat(length)} `
  ]
}

/** CPU time of this process, ms, at the least of a few tries: others on the machine are not in it. */
function cpuMs(run: () => void): number {
  const tries = Array.from({ length: 3 }, () => {
    const before = process.cpuUsage()
    run()
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1000
  })
  return Math.min(...tries)
}

describe('hostile fields', () => {
  it('are read in a time that grows as they do, up to 64 KiB', () => {
    const short = fields(2 ** 13)
    for (const [i, long] of fields(2 ** 16).entries()) {
      const read = (value: string) => () => {
        for (const from of ['x-forwarded-for', 'forwarded'] as const)
          for (const text of [value, `${value},${from === 'forwarded' ? 'for=' : ''}203.0.113.7`]) {
            const report = { socket: proxy, field: text, source: from, trust: loopback }
            const { address } = clientOf(report)
            if (address !== 'unknown') expect(canonicalAddress(address)).toBe(address)
          }
      }
      // Eight times as long: in a time that grows by the square it would be 64.
      expect(cpuMs(read(long)), long.slice(0, 12)).toBeLessThan(20 + 24 * cpuMs(read(short[i]!)))
    }
  })
})
