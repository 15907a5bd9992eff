import type { FastifyInstance } from 'fastify'
import { warn } from '../http/warnings.js'

/**
 * Says at start-up what Fastify does with a `trustProxy` that counts hops. Fastify does not show the setting, so it
 * is looked for among its options; where it is not found nothing is said, and nothing but this warning depends on it.
 */
export function warnOfTrustSetting(app: FastifyInstance): void {
  const setting = trustSetting(app)
  const isNumber = typeof setting === 'number' && setting > 0
  if (!isNumber && !(typeof setting === 'string' && /^\d+$/.test(setting.trim()))) return
  warn(
    'HEADGATE_TRUST_BY_COUNT',
    `\`trustProxy\` is ${JSON.stringify(setting)}: Fastify 5.12.1 and later trust nobody by a number of hops, and a text of ` +
      'digits is read as an address, so all clients behind a proxy share its address. Set `trustProxy` to the ' +
      "proxies' addresses, such as ['127.0.0.1', '10.0.0.0/8']."
  )
}

function trustSetting(app: FastifyInstance): unknown {
  for (let scope: object | null = app; scope !== null; scope = Object.getPrototypeOf(scope)) {
    const key = Object.getOwnPropertySymbols(scope).find((symbol) => symbol.description === 'fastify.options')
    if (key !== undefined) return (scope as Record<symbol, { trustProxy?: unknown }>)[key]?.trustProxy
  }
  return undefined
}
