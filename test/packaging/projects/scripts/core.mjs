import { createLimiter, defineStrategy, guard, HeadgateError, memoryStore, toHeaders } from 'headgate'
import { checkCore } from './checks.cjs'

checkCore({ createLimiter, defineStrategy, guard, HeadgateError, memoryStore, toHeaders })
