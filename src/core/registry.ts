import { HeadgateError } from './errors.js'
import { badOption, checkNames, nearest } from './options.js'
import { fixedWindow } from './strategies/fixed-window.js'
import { gcra } from './strategies/gcra.js'
import { leakyBucket } from './strategies/leaky-bucket.js'
import { slidingLog } from './strategies/sliding-log.js'
import { slidingWindow } from './strategies/sliding-window.js'
import { tokenBucket } from './strategies/token-bucket.js'
import type { Strategy } from './strategy.js'

/** Names that strategies are looked up by. */
const strategies = new Map<string, Strategy>(
  [fixedWindow, slidingWindow, slidingLog, tokenBucket, gcra, leakyBucket].map((s) => [s.name, s])
)

const members = [
  'name',
  'accepts',
  'slots',
  'capacity',
  'validate',
  'aligned',
  'shapes',
  'check',
  'charge',
  'chargeShared',
  'refund'
]

/**
 * Defines a strategy of your own. The result is at once usable as an object, `{ strategy: twoSpeed }`, and by
 * its name, `{ strategy: 'two-speed' }`, wherever a built-in one is.
 * @throws HeadgateError `HEADGATE_STRATEGY_EXISTS` for a name that is taken, `HEADGATE_BAD_OPTION` for a missing part
 */
export function defineStrategy(strategy: Strategy): Strategy {
  checkNames(strategy, members, 'defineStrategy')
  if (typeof strategy.name !== 'string' || strategy.name === '')
    throw badOption('name', strategy.name, 'give the strategy a name')
  for (const part of ['slots', 'check', 'charge'] as const)
    if (typeof strategy[part] !== 'function')
      throw badOption(part, strategy[part], 'a strategy needs this function')
  if (strategies.has(strategy.name))
    throw new HeadgateError(
      'HEADGATE_STRATEGY_EXISTS',
      `A strategy named \`${strategy.name}\` is defined already: choose another name, or pass the object itself.`
    )
  const defined = Object.freeze({ ...strategy })
  strategies.set(defined.name, defined)
  return defined
}

/**
 * The strategy meant by a name or an object.
 * @throws HeadgateError `HEADGATE_UNKNOWN_STRATEGY`, with the near name where there is one
 */
export function strategyOf(value: unknown): Strategy {
  if (typeof value === 'object' && value !== null && 'check' in value && 'charge' in value)
    return value as Strategy
  const found = typeof value === 'string' ? strategies.get(value) : undefined
  if (found) return found
  if (typeof value !== 'string')
    throw badOption('strategy', value, `give a name such as 'token-bucket', or what defineStrategy returned`)
  const known = [...strategies.keys()]
  const near = nearest(value, known)
  const hint = near ? `did you mean '${near}'?` : `known are ${known.map((k) => `'${k}'`).join(', ')}.`
  throw new HeadgateError(
    'HEADGATE_UNKNOWN_STRATEGY',
    `\`strategy\` is '${value}', which is not defined: ${hint}`
  )
}
