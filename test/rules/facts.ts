import type { Host } from '../../src/http/host.js'
import { RequestFacts } from '../../src/http/request-facts.js'

/** A request as rules see it. */
export interface Asked {
  readonly method?: string
  readonly path?: string
  readonly route?: string | null
  readonly headers?: Readonly<Record<string, string>>
  readonly user?: unknown
  readonly address?: string
}

const host: Pick<Host<Asked, never>, 'method' | 'url' | 'route' | 'header'> = {
  method: ({ method = 'GET' }) => method,
  url: ({ path = '/' }) => path,
  route: ({ route = null }) => route,
  header: ({ headers = {} }, name) => headers[name]
}

const shared = new RequestFacts()

/** The same object for all, as a gate has it. */
export function factsOf(asked: Asked): RequestFacts {
  const { address = '192.0.2.1' } = asked
  return shared.of(host as Host<Asked, never>, asked, { address, standing: 'client' })
}
