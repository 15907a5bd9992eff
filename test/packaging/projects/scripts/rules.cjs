const assert = require('node:assert/strict')
const { execFileSync } = require('node:child_process')
const { writeFileSync, rmSync } = require('node:fs')
const { createServer } = require('node:http')
const { tmpdir } = require('node:os')
const { join } = require('node:path')
const { rateLimit } = require('headgate/express')
const { loadRules, parseRules, RulesError } = require('headgate/rules')
const schema = require('headgate/limits.schema.json')
const { checkLimited } = require('./checks.cjs')

assert.equal(schema.title, 'Rules of headgate')
assert.throws(
  () => parseRules('- { limt: 1 }'),
  (error) => error instanceof RulesError && error.problems.length === 2
)
const file = join(tmpdir(), `headgate-rules-${process.pid}-cjs.yaml`)
writeFileSync(file, "- { match: { path: '/*' }, limit: 1, window: 1d }")
const rules = loadRules(file, { watch: true })
const limit = rateLimit({ rules })
const bin = join(require.resolve('headgate/package.json'), '../dist/cli/main.cjs')
const said = execFileSync(process.execPath, [bin, 'check', file], { encoding: 'utf8' })
assert.match(said, /for each address: 1 request in a day, then 429\./)
assert.equal(
  execFileSync(process.execPath, [bin, '--version'], { encoding: 'utf8' }).trim(),
  require('headgate/package.json').version
)
const server = createServer((request, response) => limit(request, response, () => response.end()))
server.listen(0, '127.0.0.1', async () => {
  await checkLimited(server.address().port)
  // It is watched until now, and keeps the process alive no longer than the server does.
  server.close(() => {
    rules.close()
    rmSync(file)
  })
})
