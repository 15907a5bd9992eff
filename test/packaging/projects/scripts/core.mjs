import { createLimiter, defineStrategy, guard, HeadgateError, memoryStore, toHeaders } from 'headgate'
import { checkCore } from './checks.cjs'

checkCore({ createLimiter, defineStrategy, guard, HeadgateError, memoryStore, toHeaders })

for (const entry of ['http', 'redis', 'remote', 'shared']) await import(`headgate/${entry}`)
