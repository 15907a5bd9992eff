import { explain } from '../rules/explain.js'
import { problemText, type RuleProblem, RulesError } from '../rules/problems.js'
import { readRules } from '../rules/read-rules.js'
import { unreachable } from '../rules/unreachable.js'
import type { Output } from './run.js'

const { readFileSync } = process.getBuiltinModule('node:fs')

/** What of a check is asked for. */
export interface CheckOptions {
  readonly quiet: boolean
  readonly strict: boolean
}

/** Says what there is to say of a file of rules. True if it is right. */
export function check(file: string, { quiet, strict }: CheckOptions, out: Output): boolean {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    out.fail(`${file}:1:1: the file cannot be read: ${(error as Error).message}`)
    return false
  }
  try {
    const { table, warnings } = readRules(text, file)
    const { rules } = table
    const never = unreachable(rules).map(
      ({ rule, by }): RuleProblem => ({
        file,
        ...rule.at,
        message: `the rule never decides: that of line ${by.at.line} holds for all of its requests, and comes first`
      })
    )
    const all = [...warnings, ...never].sort((a, b) => a.line - b.line)
    for (const warning of all) out.fail(problemText({ ...warning, message: `warning: ${warning.message}` }))
    if (!quiet) for (const rule of rules) out.say(`${file}:${rule.at.line}: ${explain(rule)}`)
    out.say(`${file}: ${rules.length === 1 ? 'the rule is' : `${rules.length} rules are`} right.`)
    return !strict || all.length === 0
  } catch (error) {
    if (!(error instanceof RulesError)) throw error
    for (const problem of error.problems) out.fail(problemText(problem))
    return false
  }
}
