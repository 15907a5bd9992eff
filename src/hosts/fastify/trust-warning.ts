import type { FastifyInstance } from 'fastify'
import { warnOnce } from '../../core/warn.js'
import { advice, digitsHint, isDigits } from '../../http/warnings.js'
import { countsHops, trustSetting } from './internals.js'

/** Says at start-up what Fastify does with a `trustProxy` that counts hops. */
export function warnOfTrustSetting(app: FastifyInstance): void {
  const setting = trustSetting(app)
  if (isDigits(setting)) warnOnce('HEADGATE_TRUST_BY_COUNT', digitsHint('trustProxy', setting))
  else if (typeof setting === 'number' && setting > 0 && !countsHops(app))
    warnOnce(
      'HEADGATE_TRUST_BY_COUNT',
      `\`trustProxy\` is ${setting}: Fastify trusts nobody by a number of hops since 5.12.1, so all clients behind a proxy ` +
        `share the proxy's address. ${advice('trustProxy')}`
    )
}
