import { checkDelays } from '../core/delay.js'
import type { PolicyLimiter } from '../core/limiter.js'
import {
  type BuiltLimiter,
  type CommonSettings,
  commonOptions,
  isAsync,
  openLimiter
} from '../core/limiter-options.js'
import { type OptionTable, readOptions } from '../core/options.js'
import type { Policy } from '../core/policy.js'
import { type PolicyOptions, policyOptions } from '../core/policy-options.js'
import { definePolicies, type PolicyOrLimits, readLimits } from '../core/policy-or-limits.js'
import type { Owner, Store } from '../core/store.js'
import { fixedWindow } from '../core/strategies/fixed-window.js'
import { warn, warnOfShort } from '../core/warn.js'
import {
  type RemoteLimiterSettings,
  type RemoteTerms,
  remoteLimiterOptions
} from '../remote/limiter-options.js'

/** The options of a limiter other than its policies. */
export interface LimiterSettings extends CommonSettings, RemoteLimiterSettings {}

/** Several policies on the same key, decided all or nothing. */
export interface TierOptions extends LimiterSettings {
  readonly limits: readonly PolicyOptions[]
}

/** The options of `createLimiter`: one policy, or `limits` for several. */
export type LimiterOptions = LimiterSettings & PolicyOrLimits<PolicyOptions>

/** How those are read, whatever the store is. */
export const limiterOptions: OptionTable = { ...commonOptions, ...remoteLimiterOptions }

/**
 * Makes a limiter from its options. If they name no store, its buckets live in `fallback()`.
 * @throws HeadgateError that names the option, the value and the fix
 */
export function buildLimiter(
  options: LimiterOptions & { readonly store?: Store | undefined },
  fallback: () => Store,
  owner?: Owner
): PolicyLimiter
export function buildLimiter(options: LimiterOptions, fallback: () => Store, owner?: Owner): BuiltLimiter
export function buildLimiter(
  options: LimiterOptions,
  fallback: () => Store,
  owner: Owner = { mayShare: true, label: 'createLimiter' }
): BuiltLimiter {
  const { tiers } = readLimits<PolicyOptions>(options, limiterOptions, 'a limiter')
  const limiter = limiterOpener(options, fallback, owner)(tiers)
  warnOfIdle(options, tiers, 'a limiter')
  return limiter
}

/** Whose settings were said to be idle. */
const saidIdle = new Set<string>()

/** What is about windows alone. */
const aboutWindows = ['countDenied', 'block', 'ban', 'countOnly'] as const

/** The settings that may find nothing to do. */
export interface IdleSettings extends Pick<LimiterSettings, 'countDenied' | 'block' | 'ban'> {
  readonly countOnly?: unknown
}

/**
 * Says once for each place what finds nothing to do: settings about windows where there is none; and `countDenied`, for a
 * limiter whose requests cost 1 as far as one knows, on a fixed window that has nothing left to charge.
 */
export function warnOfIdle(
  settings: IdleSettings,
  tiers: readonly { readonly strategy?: unknown; readonly concurrency?: unknown }[],
  where: string,
  costsOne = true
): void {
  for (const hint of idleHints(settings, tiers, where, costsOne)) sayIdle(hint)
}

/** What there is to say of such settings. */
export function idleHints(
  settings: IdleSettings,
  tiers: readonly { readonly strategy?: unknown; readonly concurrency?: unknown }[],
  where: string,
  costsOne: boolean
): readonly string[] {
  const hints: string[] = []
  if (tiers.every(({ concurrency }) => concurrency !== undefined)) {
    for (const name of aboutWindows)
      if (settings[name] !== undefined && settings[name] !== false)
        hints.push(
          `\`${name}\` of ${where} does nothing: it is about windows, and there is \`concurrency\` alone. Leave it out, or put a ` +
            'window into `limits` as well.'
        )
  } else if (costsOne && settings.countDenied === true && tiers.length === 1) {
    if (policyOptions.strategy.read('strategy', tiers[0]!.strategy) !== fixedWindow) return hints
    hints.push(
      `\`countDenied\` of ${where} does nothing on a fixed window for requests of cost 1: a denied one finds nothing left to charge. To ` +
        "keep clients out that go on, take `block`, or a strategy such as 'sliding-window'."
    )
  }
  return hints
}

function sayIdle(message: string): void {
  if (saidIdle.has(message)) return
  saidIdle.add(message)
  warn('HEADGATE_IDLE_OPTION', message)
}

/** What else is known of the policies that a limiter is opened with. */
export interface OpeningTerms {
  /** False where they stand for others, whose limits are computed. */
  readonly areLimitsKnown?: boolean
  /** True where the user has named all of them; if left out, where all have names. */
  readonly areNamed?: boolean
}

/**
 * Gives a function that opens limiters, each with policies of its own. Their settings are read once. Where limits are
 * computed, those of the policies are not known yet.
 */
export function limiterOpener(
  options: LimiterSettings,
  fallback: () => Store,
  owner: Owner
): (tiers: readonly PolicyOptions[], terms?: OpeningTerms) => BuiltLimiter {
  let read: ReturnType<typeof readSettings> | undefined
  return (
    tiers,
    { areLimitsKnown = true, areNamed = tiers.every(({ name }) => name !== undefined) } = {}
  ) => {
    const policies = definePolicies(tiers)
    if (areLimitsKnown) checkDelays(policies)
    read ??= readSettings(options, policies, areLimitsKnown)
    // Who has a clock of his own has times of his own making.
    if (options.now === undefined) for (const tier of tiers) warnOfShort('window', tier.window)
    const named = owner.mayShare && areNamed
    const { store = fallback(), now } = options
    return openLimiter({ policies, named, owner, ...read, store, now })
  }
}

/** Reads the settings of limiters with these policies, or with the same policies and other windows. */
function readSettings(options: LimiterSettings, policies: readonly Policy[], areLimitsKnown: boolean) {
  const common = readOptions(commonOptions, options)
  if (options.now === undefined) {
    warnOfShort('block', options.block)
    for (const name of ['within', 'for', 'max', 'forget'] as const)
      warnOfShort(`ban.${name}`, options.ban?.[name])
  }
  const { countDenied } = common
  const terms: RemoteTerms = {
    ...{ isRemote: isAsync(options.store), policies, areLimitsKnown, countDenied }
  }
  const settings = readOptions(remoteLimiterOptions, options, terms)
  return { ...common, settings }
}
