import { rateLimit } from 'headgate/express'
import { loadRules, parseRules, RulesError } from 'headgate/rules'

export const rules = parseRules('- { limit: 1, window: 1s }')
export const loaded = loadRules('limits.yaml', { watch: true })
export const { table } = rules
export const changes = loaded.reload()
export const limit = rateLimit({ rules })
export const error = new RulesError([])
