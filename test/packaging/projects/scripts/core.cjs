const { createLimiter, defineStrategy, guard, HeadgateError, memoryStore, toHeaders } = require('headgate')
const { checkCore } = require('./checks.cjs')

checkCore({ createLimiter, defineStrategy, guard, HeadgateError, memoryStore, toHeaders })

for (const entry of ['http', 'redis', 'remote', 'shared']) require(`headgate/${entry}`)
