import type { HandParts } from './by-hand.js'
import type { Host } from './host.js'
import type { KeyReader } from './key.js'
import type { Who } from './known.js'
import type { GatePlan } from './options.js'
import { priceOf } from './pricing.js'

/** What a gate lends to its limiter by hand. */
interface Lent<Req> extends Pick<HandParts<Req>, 'watched' | 'close'> {
  readonly plan: Pick<GatePlan<Req, never>, 'rules' | 'cost'>
  readonly key: KeyReader<Req>
  readonly addressOf: (host: Host<Req, never>, request: Req) => string
}

/** What the limiter of a gate by hand is made of. */
export function handPartsOf<Req>(
  { plan, key, addressOf, watched, close }: Lent<Req>,
  hostOf: (request: Req) => Host<Req, never>
): HandParts<Req> {
  const { rules } = plan
  const reading = (reader: KeyReader<Req>) => ({
    keyOf: (who: Who) => reader.of(who),
    keyOfRequest(request: Req) {
      const host = hostOf(request)
      return reader.read(request, addressOf(host, request), host)
    }
  })
  return {
    ...reading(key),
    ...{ rules, watched, close },
    at: [],
    parts: (rules.parts ?? []).map((part) => ({
      ...reading(part.key ?? key),
      rules: part.rules,
      at: part.at
    })),
    price(request, keyText, units) {
      const host = hostOf(request)
      const address = addressOf(host, request)
      return priceOf<Req>(plan, { host, request, address, key: keyText, kind: 'request', units })
    }
  }
}
