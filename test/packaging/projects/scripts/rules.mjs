import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { HeadgateError } from 'headgate'
import { rateLimit } from 'headgate/express'
import { parseRules, RulesError } from 'headgate/rules'
import { checkLimited } from './checks.cjs'

assert.throws(
  () => parseRules('[]'),
  (error) => error instanceof RulesError && error instanceof HeadgateError
)
const limit = rateLimit({ rules: parseRules('- { limit: 1, window: 1d }') })
const server = createServer((request, response) => limit(request, response, () => response.end()))
server.listen(0, '127.0.0.1', async () => {
  await checkLimited(server.address().port)
  server.close()
})
