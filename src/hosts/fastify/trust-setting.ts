import type { FastifyInstance } from 'fastify'
import { advice, digitsHint, isDigits, warn } from '../../http/warnings.js'

/**
 * Says at start-up what Fastify does with a `trustProxy` that counts hops. Fastify does not show the setting, so it
 * is looked for among its options; where it is not found nothing is said, and nothing but this warning depends on it.
 */
export function warnOfTrustSetting(app: FastifyInstance): void {
  const setting = trustSetting(app)
  if (isDigits(setting)) warn('HEADGATE_TRUST_BY_COUNT', digitsHint('trustProxy', setting))
  else if (typeof setting === 'number' && setting > 0 && !countsHops(app.version))
    warn(
      'HEADGATE_TRUST_BY_COUNT',
      `\`trustProxy\` is ${setting}: Fastify trusts nobody by a number of hops since 5.12.1, so all clients behind a proxy ` +
        `share the proxy's address. ${advice('trustProxy')}`
    )
}

/** Versions that trust whoever connects; requests that arrive so are warned of. */
function countsHops(version: string): boolean {
  return version.localeCompare('5.12.1', 'en', { numeric: true }) < 0
}

function trustSetting(app: FastifyInstance): unknown {
  for (let scope: object | null = app; scope !== null; scope = Object.getPrototypeOf(scope)) {
    const key = Object.getOwnPropertySymbols(scope).find((symbol) => symbol.description === 'fastify.options')
    if (key !== undefined) return (scope as Record<symbol, { trustProxy?: unknown }>)[key]?.trustProxy
  }
  return undefined
}
