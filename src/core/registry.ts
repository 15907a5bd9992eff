import { HeadgateError } from './errors.js'
import { badOption, checkNames, nearest } from './options.js'
import { calendarWindow } from './strategies/calendar-window.js'
import { fixedWindow } from './strategies/fixed-window.js'
import { gcra } from './strategies/gcra.js'
import { leakyBucket } from './strategies/leaky-bucket.js'
import { slidingLog } from './strategies/sliding-log.js'
import { slidingWindow } from './strategies/sliding-window.js'
import { tokenBucket } from './strategies/token-bucket.js'
import type { RuleOption, Strategy } from './strategy.js'

const builtIn: readonly Strategy[] = [fixedWindow, slidingWindow, slidingLog, tokenBucket, gcra, leakyBucket]

/** Names that strategies are looked up by. */
const strategies = new Map<string, Strategy>(builtIn.map((strategy) => [strategy.name, strategy]))

const members = [
  'name',
  'accepts',
  'slots',
  'capacity',
  'validate',
  'aligned',
  'growth',
  'shapes',
  'check',
  'charge',
  'take',
  'cover',
  'refund',
  'reward',
  'lua'
]

/**
 * Defines a strategy of your own. The result is at once usable as an object, `{ strategy: twoSpeed }`, and by
 * its name, `{ strategy: 'two-speed' }`, wherever a built-in one is.
 * @throws HeadgateError `HEADGATE_STRATEGY_EXISTS` for a name that is taken, `HEADGATE_BAD_OPTION` for a missing part
 */
export function defineStrategy(strategy: Strategy): Strategy {
  checkStrategy('defineStrategy', strategy)
  checkNames(strategy, members, 'defineStrategy')
  if (strategies.has(strategy.name))
    throw new HeadgateError(
      'HEADGATE_STRATEGY_EXISTS',
      `A strategy named \`${strategy.name}\` is defined already: choose another name, or pass the object itself.`
    )
  strategies.set(strategy.name, Object.freeze(strategy))
  return strategy
}

/** True for a strategy that the tests of this package hold to the contract. */
export function isBuiltIn(strategy: Strategy): boolean {
  return builtIn.includes(strategy) || strategy === calendarWindow
}

/** Refuses what is no strategy: it may also be an instance of a class, or passed without having been defined. */
function checkStrategy(option: string, value: unknown): asserts value is Strategy {
  if (typeof value !== 'object' || value === null)
    throw badOption(
      option,
      value,
      `give a name such as 'token-bucket', or an object with \`check\` and \`charge\``
    )
  const strategy = value as Record<string, unknown>
  if (typeof strategy.name !== 'string' || strategy.name === '')
    throw badOption(`${option}.name`, strategy.name, 'give the strategy a name')
  for (const part of ['slots', 'check', 'charge'])
    if (typeof strategy[part] !== 'function')
      throw badOption(`${option}.${part}`, strategy[part], 'a strategy needs this function')
  for (const part of ['capacity', 'validate', 'aligned', 'take', 'cover', 'refund', 'reward'])
    if (strategy[part] !== undefined && typeof strategy[part] !== 'function')
      throw badOption(`${option}.${part}`, strategy[part], 'make it a function, or leave it out')
  checkAccepts(`${option}.accepts`, strategy.accepts)
  checkGrowth(`${option}.growth`, strategy.growth)
  if (strategy.shapes !== undefined && typeof strategy.shapes !== 'boolean')
    throw badOption(`${option}.shapes`, strategy.shapes, 'give true or false')
  if (strategy.lua !== undefined && typeof strategy.lua !== 'string')
    throw badOption(`${option}.lua`, strategy.lua, 'give the Lua source as a text, or leave it out')
}

function checkGrowth(option: string, value: unknown): void {
  if (value === undefined) return
  for (const part of ['needs', 'thin'])
    if (typeof (value as Record<string, unknown> | null)?.[part] !== 'function')
      throw badOption(option, value, 'give { needs, thin }, two functions, or leave it out')
}

const acceptable: readonly unknown[] = ['burst', 'align', 'delayAfter'] satisfies readonly RuleOption[]

function checkAccepts(option: string, value: unknown): void {
  if (value === undefined || (Array.isArray(value) && value.every((name) => acceptable.includes(name))))
    return
  throw badOption(option, value, "give a list of some of 'burst', 'align' and 'delayAfter', or leave it out")
}

/**
 * The strategy meant by a name or an object.
 * @throws HeadgateError `HEADGATE_UNKNOWN_STRATEGY`, with the near name where there is one
 */
export function strategyOf(value: unknown): Strategy {
  if (typeof value !== 'string') {
    checkStrategy('strategy', value)
    return value
  }
  const found = strategies.get(value)
  if (found) return found
  const known = [...strategies.keys()]
  const near = nearest(value, known)
  const hint = near ? `did you mean '${near}'?` : `known are ${known.map((k) => `'${k}'`).join(', ')}.`
  throw new HeadgateError(
    'HEADGATE_UNKNOWN_STRATEGY',
    `\`strategy\` is '${value}', which is not defined: ${hint}`
  )
}
