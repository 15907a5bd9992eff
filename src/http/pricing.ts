import { checkCost, keyText } from '../core/key-and-cost.js'
import { Together } from '../core/together.js'
import type { FieldReader } from './key.js'
import type { GatePlan } from './options.js'
import { gather, isPromiseLike } from './promise.js'
import type { Asked } from './request-rate-limit.js'
import type { RulePart, RuleSource, Rules } from './rules.js'

/** What a limiter is to be asked: under which rules, for whom, and how much. */
export type Priced = Pick<Asked, 'limiter' | 'policies' | 'key' | 'cost'>

/** A request whose rules, keys or cost are found by functions. */
export interface Pricing<Req> extends Pick<Asked, 'kind' | 'key'> {
  readonly host: FieldReader<Req>
  readonly request: Req
  /** The client's address; '' where no key is made of it. */
  readonly address: string
  /** What it is to be charged in any case, by hand. */
  readonly units?: number | undefined
}

/** Finds the rules, the cost, and where limits have keys of their own those, by which a request is decided. */
export function priceOf<Req>(
  { rules, cost }: Pick<GatePlan<Req, never>, 'rules' | 'cost'>,
  pricing: Pricing<Req>
): Priced | Promise<Priced> {
  const { request, kind, key, units: charged = kind === 'preflight' ? 1 : undefined } = pricing
  const found = gather<Rules | number>([
    () => rules.forRequest(request),
    () => charged ?? (typeof cost === 'number' ? cost : cost(request))
  ])
  const price = ([made, units]: readonly unknown[]): Priced | Promise<Priced> => {
    const { limiter, policies, parts } = made as Rules
    if (parts !== null) return jointPrice(parts, pricing, units as number)
    rules.note(key, made as Rules)
    return { limiter, policies, key, cost: units as number }
  }
  return isPromiseLike(found) ? found.then(price) : price(found)
}

/** What several limiters are to be asked together. Preflights are charged to their address by each. */
function jointPrice<Req>(
  parts: readonly RulePart[],
  { host, request, address, kind, key, units: charged }: Pricing<Req>,
  units: number
): Priced | Promise<Priced> {
  const isRequest = kind === 'request'
  const found = gather<string | number>(
    parts.flatMap((part) => [
      () => (isRequest && part.key !== null ? part.key.read(request as never, address, host as never) : key),
      () => {
        if (!isRequest || part.cost === null || charged !== undefined) return units
        return typeof part.cost === 'number' ? part.cost : part.cost(request as never)
      }
    ])
  )
  const price = (values: readonly (string | number)[]): Priced => {
    const limiter = new Together(
      parts.map(({ limiter, policies, at }, i) => ({
        ...{ limiter, policies, at },
        // Checked before any of them is charged.
        key: keyText(values[2 * i]),
        cost: checkCost(values[2 * i + 1])
      }))
    )
    return { limiter, policies: parts[0]!.policies, key, cost: units }
  }
  return isPromiseLike(found) ? found.then(price) : price(found)
}

/** The keys that limits have of their own. */
export function ownKeys<Req>({ parts }: RuleSource<Req>) {
  return (parts ?? []).flatMap(({ key }) => (key === null ? [] : [key]))
}
