import { atMostOne, type Constraint, required } from './constraints.js'
import { matchTable, token } from './match-table.js'
import { duration, limitOfWindow, policyTable, tierOf, windowOfLimit } from './policy-table.js'
import {
  amount,
  either,
  flag,
  list,
  object,
  oneOf,
  orList,
  reference,
  type Shape,
  type ShapeTable,
  text,
  whole
} from './shapes.js'

/*
 * All that a file of rules may say. What is checked and what editors complete are made of these tables: an option is an
 * entry here, in `policy-table.ts` or in `match-table.ts`, and nothing else.
 */

const keyFix = "give 'ip', 'user', 'header:NAME', 'path', 'method', 'route', or a list of these"
const keyPart = text(keyFix, new RegExp(`^(?:ip|user|method|path|route|header:\\s*${token}\\s*)$`))

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

const ban = object(
  () => ({
    after: { about: 'How many denials ban a key.', shape: whole(1) },
    within: { about: 'The time in which they count; 10m if left out.', shape: duration },
    for: { about: 'How long the first ban lasts.', shape: duration },
    growth: { about: 'How many times longer each repeat is; 1 if left out.', shape: amount(1, 1000) },
    max: { about: 'The longest ban; 30d if left out.', shape: duration },
    forget: { about: 'How long after its last ban a key is forgiven; 1d if left out.', shape: duration }
  }),
  {
    where: '`ban`',
    fix: "give { after: 5, within: '10m', for: '1h' }",
    constraints: [required(['after', 'for'], 'say how many denials ban a key, and for how long')]
  }
)

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
  ban: { about: 'Bans a key that is denied again and again.', shape: ban },
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
    shape: list(
      tierOf({ key: settingTable.key!, cost: settingTable.cost!, shadow: settingTable.shadow! }),
      "give a list of policies such as [{ limit: 10, window: '1s' }]"
    )
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
