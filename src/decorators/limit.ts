import type { Duration } from '../core/duration.js'
import { HeadgateError } from '../core/errors.js'
import { badOption } from '../core/options.js'
import type { StrategyName } from '../core/policy-options.js'
import type { PolicyOrLimits } from '../core/policy-or-limits.js'
import type { Strategy } from '../core/strategy.js'
import type { GateSettings } from '../http/gate-settings.js'
import type { KeySpec } from '../http/key.js'
import type { ListedRule } from '../http/limit-parts.js'
import type { PlanOptions } from '../http/plans.js'
import type { RulesOption } from '../http/request-rules.js'
import type { RuleOptions } from '../http/rules.js'
import { type DecoratorContext, type Mark, type Said, write } from './marks.js'
import { leaveGuard } from './nest.js'

/** What functions in the options of `@Limit` receive unless they declare a framework's own request type. */
export interface LimitedRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly method?: string
  readonly url?: string
  readonly params?: unknown
  readonly query?: unknown
  readonly body?: unknown
}

/** The options of `@Limit`. On a method they may leave out what the class already says. */
export type LimitOptions<Req, Res> = GateSettings<Req, Res> &
  (PolicyOrLimits<Partial<RuleOptions<Req>>, ListedRule<Req>> | PlanOptions<Req> | RulesOption)

/** A decorator of a class or a method, of the standard or of TypeScript's `experimentalDecorators`. */
export interface LimitDecorator {
  (target: object, name: string | symbol, descriptor?: object): void
  (target: unknown, context: DecoratorContext): void
  (target: abstract new (...args: never[]) => unknown): void
}

/** `@Limit` as it is called. */
export interface LimitFactory<Name extends string, Extra = unknown, Default = LimitedRequest> {
  /** Options of a limiter. */
  <Req = Default, Res = unknown>(options: LimitOptions<Req, Res> & Extra): LimitDecorator
  /** The name of a policy of the plugin or module. */
  (policy: Name): LimitDecorator
  /**
   * The shorthand.
   * @param key who is charged
   * @param limit units per window
   * @param window its length, ms or text
   * @param strategy `'fixed-window'` if left out
   */
  <Req = Default>(
    key: KeySpec<Req>,
    limit: number,
    window: Duration,
    strategy?: StrategyName | Strategy
  ): LimitDecorator
  /** No limit here. `skip(false)` on a method undoes the skip of its class. */
  skip(isSkipped?: boolean): LimitDecorator
}

/**
 * Says how a class or a method is limited: a limit on a method replaces that on its class. Several limits on one target
 * are decided together, all or nothing.
 *
 * On plain classes it only notes this, for `limitsOf` to read. In NestJS import it from `headgate/nest`.
 * @example
 * class Reports {
 *   @Limit({ limit: 10, window: '1s', strategy: 'token-bucket', key: 'header:x-api-key' }) list() {}
 *   @Limit('ip', 3, '1m') create() {}
 * }
 * @throws HeadgateError for what can be no limit, and for targets that can be no handler
 */
export const Limit: LimitFactory<string> = limitFactory(
  (mark) => (target: unknown, name?: unknown, descriptor?: unknown) => {
    mark(target as object, name as string, descriptor as object)
    // Nest has no decorators of the standard.
    if (typeof name !== 'object') leaveGuard(target, name, descriptor)
  }
)

/** Makes a `@Limit` whose decorators also do what `extend` adds to them. */
export function limitFactory<Factory>(extend: (mark: LimitDecorator) => LimitDecorator): Factory {
  const limit = (...said: readonly unknown[]) => extend(limiting(saidBy(said)))
  const skip = (isSkipped: unknown = true) => {
    if (typeof isSkipped !== 'boolean') throw badOption('skip', isSkipped, 'give true or false')
    const note = (mark: Mark) => {
      mark.skip = isSkipped
    }
    return extend(decorator(note))
  }
  return Object.assign(limit, { skip }) as Factory
}

// Decorators are run from the last to the first.
const limiting = (said: Said) => decorator((mark) => void mark.limits.unshift(said))

function decorator(note: (mark: Mark) => void): LimitDecorator {
  return (target: unknown, second?: unknown, third?: unknown) => write(target, second, third, note)
}

function saidBy(said: readonly unknown[]): Said {
  const [first, limit, window, strategy = 'fixed-window'] = said
  if (isTarget(said))
    throw new HeadgateError(
      'HEADGATE_MISUSE',
      "`@Limit` was used without a call: write @Limit({ limit: 100, window: '1m' })."
    )
  if (said.length > 1) return { key: first, limit, window, strategy }
  if ((typeof first === 'object' && first !== null) || (typeof first === 'string' && first !== ''))
    return first
  throw badOption('@Limit', first, "give options such as { limit: 100, window: '1m' }, or a policy's name")
}

/** True for what decorators are called with. */
function isTarget([first, second, ...more]: readonly unknown[]): boolean {
  if (typeof second === 'object' && second !== null) return 'kind' in second
  if (typeof first === 'function' && second === undefined) return more.length === 0
  return (typeof first === 'function' || typeof first === 'object') && !Array.isArray(first) && isName(second)
}

function isName(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'symbol'
}
