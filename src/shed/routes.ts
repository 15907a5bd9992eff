import { badOption, checkNames } from '../core/options.js'
import type { OnShed } from './options.js'
import type { Priorities } from './priorities.js'

/** What a route says of its own: false for one that is never shed. */
export type RouteShed<Req, Res> =
  | false
  | {
      /** The priority of all its requests. */
      readonly priority?: string | undefined
      /** Answers its requests that are shed. */
      readonly onShed?: OnShed<Req, Res> | undefined
    }

/** That, read. */
export interface RouteRules<Req, Res> {
  readonly isShed: boolean
  /** null where each request has its own. */
  readonly rank: number | null
  /** null where all routes are answered alike. */
  readonly onShed: OnShed<Req, Res> | null
}

/** Those of a route that says nothing. */
export const noRules: RouteRules<unknown, unknown> = { isShed: true, rank: null, onShed: null }

/** @throws HeadgateError that names the option, the value and the fix */
export function routeRules<Req, Res>(said: unknown, priorities: Priorities): RouteRules<Req, Res> {
  if (said === undefined) return noRules
  if (said === false) return { ...noRules, isShed: false }
  if (typeof said !== 'object' || said === null || Array.isArray(said))
    throw badOption('shed', said, "give false for a route that is never shed, or { priority: 'critical' }")
  checkNames(said, ['priority', 'onShed'], "a route's `shed`")
  const { priority, onShed } = said as { priority?: unknown; onShed?: unknown }
  if (onShed !== undefined && typeof onShed !== 'function')
    throw badOption('onShed', onShed, 'give a function')
  return {
    isShed: true,
    rank: priority === undefined ? null : priorities.rankIn('priority', priority),
    onShed: (onShed as OnShed<Req, Res> | undefined) ?? null
  }
}
