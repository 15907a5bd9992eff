import { adaptiveAlgorithms } from '../core/adaptive/read-adaptive.js'
import {
  amount,
  atMostOne,
  type Constraint,
  either,
  flag,
  list,
  named,
  object,
  oneOf,
  orList,
  reference,
  required,
  type Shape,
  type ShapeTable,
  text,
  whole
} from './shapes.js'

/*
 * All that a file of rules may say. What is checked and what editors complete are made of these tables: an option is an
 * entry here, and nothing else.
 */

const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"

const durationFix =
  "give a text with a unit such as '30s', '15m', '1h', '1d', or a whole number of milliseconds"
const duration = either([whole(1), text(durationFix, /^\d*\.?\d+ *[A-Za-z]+$/)], durationFix)

const keyFix = "give 'ip', 'user', 'header:NAME', 'path', 'method', 'route', or a list of these"
const keyPart = text(keyFix, new RegExp(`^(?:ip|user|method|path|route|header:\\s*${token}\\s*)$`))

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
const policyTable: ShapeTable = {
  name: {
    about: 'What headers, problem details and messages call it.',
    shape: text('a policy name is 1 to 1024 characters of printable ASCII', /^[\x20-\x7e]{1,1024}$/)
  },
  limit: { about: 'Units per window.', shape: whole(1) },
  window: { about: "Length of the window, such as '15m'.", shape: duration },
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
const windowOfLimit: Constraint = {
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

const limitOfWindow: Constraint = {
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

const tier = object(() => policyTable, {
  where: 'one of `limits`',
  fix: policyFix,
  constraints: [saysPolicy, oneKind, windowOfLimit, limitOfWindow]
})

const addressFix = "give addresses and ranges such as '10.0.0.0/8'"
const pathFix = "give a path such as '/login', '/users/:id' or '/api/*', or a list of these"
const userFix = 'give the text of a user, a list of them, true for any, or false for requests without'
const headerFix = 'give { NAME: value }: a text, a list of them, true where it must be there, false where not'

/** What a request must be for a rule to hold. */
const matchTable: ShapeTable = {
  method: {
    about: 'The method, or several. GET is HEAD, too.',
    shape: orList(
      text("give a method such as 'POST', or a list", new RegExp(`^${token}$`)),
      "give a method such as 'POST', or a list"
    )
  },
  path: {
    about: "The path: '/login', '/users/:id', or '/api/*' with all below it.",
    shape: orList(text(pathFix, /^\/[^?#\s]*$/), pathFix)
  },
  route: {
    about: "The route's template as the framework has it, such as '/users/:id'.",
    shape: orList(text("give a route's template such as '/users/:id'"), "give a route's template, or a list")
  },
  header: {
    about: 'Header fields by name: a value, several, true (there) or false (not there).',
    shape: named(
      new RegExp(`^${token}$`),
      either([flag, orList(text(headerFix), headerFix)], headerFix),
      headerFix
    )
  },
  user: {
    about: 'Who is logged in: a user, several, true (anybody) or false (nobody).',
    shape: either([flag, orList(either([text(userFix), whole(0)], userFix), userFix)], userFix)
  },
  address: {
    about: "The client's address: addresses and ranges such as '10.0.0.0/8'.",
    shape: orList(text(addressFix), addressFix)
  }
}

const saysLimit: Constraint = {
  schema: { anyOf: ['limit', 'limits', 'concurrency', 'rules'].map((name) => ({ required: [name] })) },
  fault: (value) =>
    ['limit', 'limits', 'concurrency', 'rules'].every((name) => value(name) === undefined)
      ? {
          option: 'name',
          message:
            'the rule says no limit: give `limit` and `window`, `limits`, `concurrency`, or `limit: false` for none'
        }
      : null
}

/** The settings that rules hand on to those within them. */
export const settingTable: ShapeTable = {
  key: { about: "Who is charged; 'ip' if left out.", shape: orList(keyPart, keyFix) },
  cost: { about: 'Units that a request takes; 1 if left out.', shape: whole(1) },
  shadow: { about: 'Decide and record, but deny nobody.', shape: flag },
  countOnly: {
    about: 'Which requests count in the end.',
    shape: oneOf(['failures', 'successes'], "give 'failures' or 'successes'")
  },
  aborted: {
    about: 'What a request is to `countOnly` whose client leaves early.',
    shape: oneOf(['counted', 'failure', 'success'], "give 'counted', 'failure' or 'success'")
  },
  countDenied: { about: 'Charge denied requests, too.', shape: flag },
  block: { about: 'How long a denied key stays denied at least.', shape: duration },
  statusCode: { about: 'Status of a denied response; 429 if left out.', shape: whole(400, 599) },
  message: { about: 'The sentence in the body of a denied response.', shape: text('give a text') }
}

const ruleTable: ShapeTable = {
  match: {
    about: 'Which requests it holds for: all of this must be so. Every request if left out.',
    shape: object(() => matchTable, { where: '`match`', fix: "give { method: 'POST', path: '/login' }" })
  },
  ...policyTable,
  limit: {
    about: 'Units per window; 0 denies, false limits nothing.',
    shape: either(
      [whole(0), oneOf([false], 'give false')],
      'give a whole number, 0 to deny, or false to limit nothing'
    )
  },
  limits: {
    about: 'Several policies, decided together, all or nothing.',
    shape: list(tier, "give a list of policies such as [{ limit: 10, window: '1s' }]")
  },
  ...settingTable,
  rules: {
    about: 'Rules within it, for some of its requests.',
    shape: reference('rules', () => rulesShape)
  }
}

/** One rule. */
export const ruleShape: Shape = object(() => ruleTable, {
  where: 'a rule',
  fix: "give a rule such as { match: { path: '/login' }, limit: 5, window: '15m' }",
  constraints: [
    saysLimit,
    atMostOne(['limits', 'limit', 'concurrency'], 'put each policy into `limits`'),
    windowOfLimit,
    limitOfWindow
  ]
})

const rulesFix = "give a list of rules, or { match: 'all', rules: [ … ] }"
const listOfRules = list(
  reference('rule', () => ruleShape),
  rulesFix
)

const groupTable: ShapeTable = {
  $schema: { about: 'Where editors find the schema.', shape: text('give a text') },
  match: {
    about: "Whether the first rule that holds decides, or all of them; 'first' if left out.",
    shape: oneOf(['first', 'all'], "give 'first' or 'all'")
  },
  rules: { about: 'The rules, in order.', shape: listOfRules }
}

/** What a file is, and what `rules` of a rule is. */
export const rulesShape: Shape = either(
  [
    listOfRules,
    object(() => groupTable, {
      where: 'a file of rules',
      fix: rulesFix,
      constraints: [required(['rules'], 'give a list of rules')]
    })
  ],
  rulesFix
)

/** The schema of a file of rules, for editors: `limits.schema.json`. */
export function rulesSchema(): object {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Rules of headgate',
    $ref: '#/$defs/rules',
    $defs: { rules: rulesShape.schema, rule: ruleShape.schema }
  }
}

/** The options of one policy, by name. */
export const policyNames: readonly string[] = Object.keys(policyTable)
