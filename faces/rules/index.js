export { loadRules, parseRules, RulesError } from './index.cjs'
