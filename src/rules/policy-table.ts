import { adaptiveAlgorithms } from '../core/adaptive/read-adaptive.js'
import { nominalMs, weekdays } from '../core/calendar/periods.js'
import { atMostOne, type Constraint, required } from './constraints.js'
import { amount, either, object, oneOf, type Shape, type ShapeTable, text, whole } from './shapes.js'

const durationFix =
  "give a text with a unit such as '30s', '15m', '1h', '1d', or a whole number of milliseconds"
/** A span of time. */
export const duration: Shape = either([whole(1), text(durationFix, /^\d*\.?\d+ *[A-Za-z]+$/)], durationFix)

const windowFix = `${durationFix}; or 'day', 'week', 'month' or 'year' for windows of the calendar`
/** The length of a window, or a window of the calendar. */
const window: Shape = either(
  [whole(1), oneOf(Object.keys(nominalMs), windowFix), text(windowFix, /^\d*\.?\d+ *[A-Za-z]+$/)],
  windowFix
)
const startsOnFix = "give a day of the month, 1 to 31, or a weekday such as 'monday'"

const delay = object(
  () => ({
    after: { about: 'Units of the window that are not held; 1 if left out.', shape: whole(0) },
    step: { about: 'How much longer each further unit is held.', shape: duration },
    max: { about: 'The longest that a request is held; 1m if left out.', shape: duration },
    places: { about: 'How many requests are held at once; 1000 if left out.', shape: whole(1) }
  }),
  {
    where: '`delay`',
    fix: "give { after: 5, step: '500ms', max: '20s' }",
    constraints: [required(['step'], "say how much longer each unit is held, such as '500ms'")]
  }
)

const adaptive = object(
  () => ({
    adaptive: {
      about: 'By latencies, or by failures and time-outs.',
      shape: oneOf(Object.keys(adaptiveAlgorithms), "give 'gradient' or 'aimd'")
    },
    min: { about: 'The least limit; 1 if left out.', shape: whole(1) },
    max: { about: 'The largest limit; 1000 if left out.', shape: whole(1) },
    initial: { about: 'The limit before anything is known; 20 if left out.', shape: whole(1) },
    timeout: { about: 'A request that takes longer is a failure.', shape: duration },
    tolerance: { about: 'How many times as long as at light load requests may take.', shape: amount(1.1, 10) }
  }),
  {
    where: '`concurrency`',
    fix: "give a whole number, or { adaptive: 'gradient' }",
    constraints: [required(['adaptive'], "give 'gradient' or 'aimd'")]
  }
)

const builtIn = ['fixed-window', 'sliding-window', 'sliding-log', 'token-bucket', 'gcra', 'leaky-bucket']
const strategyFix = `give one of ${builtIn.map((name) => `'${name}'`).join(', ')}, or the name of one of your own`
const strategy = either([oneOf(builtIn, strategyFix), text(strategyFix)], strategyFix)

/** The options of one policy. */
export const policyTable: ShapeTable = {
  name: {
    about: 'What headers, problem details and messages call it.',
    shape: text('a policy name is 1 to 1024 characters of printable ASCII', /^[\x20-\x7e]{1,1024}$/)
  },
  limit: { about: 'Units per window.', shape: whole(1) },
  window: { about: "Length of the window, such as '15m'; or 'month' of the calendar.", shape: window },
  timeZone: {
    about: "Whose calendar, such as 'Europe/Berlin'; 'UTC' if left out.",
    shape: text('give a time zone')
  },
  startsOn: {
    about: 'With which day a month or a week of the calendar begins; the 1st, or Monday.',
    shape: either([whole(1, 31), oneOf(weekdays, startsOnFix)], startsOnFix)
  },
  delay: { about: 'Holds what is over a part of the limit, longer each time.', shape: delay },
  strategy: { about: "How it counts; 'fixed-window' if left out.", shape: strategy },
  burst: { about: 'The most units at once, or the waiting places of a leaky bucket.', shape: whole(0) },
  align: {
    about: "Whether fixed windows follow the clock or open at a key's first request.",
    shape: oneOf(['clock', 'first-request'], "give 'clock' or 'first-request'")
  },
  delayAfter: { about: 'How many waiting places of a leaky bucket are not held back.', shape: whole(0) },
  concurrency: {
    about: 'How many requests may be in flight, in place of `limit` and `window`.',
    shape: either([whole(1), adaptive], "give a whole number, or { adaptive: 'gradient' }")
  },
  queue: { about: 'How many requests of each key may wait for one in flight to end.', shape: whole(0) },
  maxWait: { about: 'How long one of them waits at the most; 1s if left out.', shape: duration }
}

const policyFix = "give a policy such as { limit: 10, window: '1s' }"

/** `limit` goes with `window`; `false` and 0 need none. */
export const windowOfLimit: Constraint = {
  schema: {
    if: { properties: { limit: { type: 'integer', minimum: 1 } }, required: ['limit'] },
    // biome-ignore lint/suspicious/noThenProperty: a word of JSON Schema
    then: { required: ['window'] },
    else: true
  },
  fault(value) {
    const limit = value('limit')
    const isMissing = Number.isInteger(limit) && (limit as number) > 0 && value('window') === undefined
    return isMissing
      ? { option: 'limit', message: "`window` is missing: give it beside `limit`, such as '15m'" }
      : null
  }
}

/** And `window` with `limit`. */
export const limitOfWindow: Constraint = {
  schema: { dependentRequired: { window: ['limit'] } },
  fault: (value) =>
    value('window') === undefined || value('limit') !== undefined
      ? null
      : { option: 'window', message: '`limit` is missing: say how many units the window admits' }
}

const saysPolicy: Constraint = {
  schema: { anyOf: [{ required: ['limit'] }, { required: ['concurrency'] }] },
  fault: (value) =>
    value('limit') === undefined && value('concurrency') === undefined
      ? { option: 'name', message: `it says no limit: ${policyFix}` }
      : null
}

const oneKind = atMostOne(['limit', 'concurrency'], 'for both give `limits`, a list with one policy each')

/** What a policy of `limits` may have of its own, in place of what its rule says. */
export function tierOf(own: ShapeTable): Shape {
  return object(() => ({ ...policyTable, ...own }), {
    where: 'one of `limits`',
    fix: policyFix,
    constraints: [saysPolicy, oneKind, windowOfLimit, limitOfWindow]
  })
}

/** The options of one policy, by name. */
export const policyNames: readonly string[] = Object.keys(policyTable)
