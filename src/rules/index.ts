export type { RequestRule, RequestRules, RuleTable } from '../http/request-rules.js'
export {
  type LoadedRules,
  type LoadRulesOptions,
  loadRules,
  parseRules,
  type RuleChanges
} from './load-rules.js'
export { type RuleProblem, RulesError } from './problems.js'
