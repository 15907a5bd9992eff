import { type Hop, hopByHop, type TrustedHops } from '../../http/client-address.js'

/*
 * What we rely on of Express beyond its documentation. test/hosts/express/internals.test.ts looks at each on the oldest and
 * the newest version.
 */

/** What is used of an Express app. */
export interface ExpressApp {
  get?(name: string): unknown
}

/**
 * How many hops an app trusts, by the function that Express makes of its `trust proxy` setting; null where it trusts none.
 *
 * Relies on the setting `trust proxy fn`, which Express's own `req.ip` reads. Since 4.0.
 * Without it nobody is trusted: clients behind a proxy share its address, and `HEADGATE_UNTRUSTED_PROXY` says so.
 */
export function trustOf(app: ExpressApp | undefined): TrustedHops | null {
  if (!app?.get?.('trust proxy')) return null
  const trust = app.get('trust proxy fn')
  return typeof trust === 'function' ? hopByHop(trust as (hop: Hop, index: number) => unknown) : null
}
