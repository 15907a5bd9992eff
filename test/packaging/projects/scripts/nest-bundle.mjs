import 'reflect-metadata'
import assert from 'node:assert/strict'
import { HeadgateError } from 'headgate'
import * as nest from 'headgate/nest'

assert.equal(nest.HeadgateError, HeadgateError)
assert.equal(typeof nest.RateLimitModule.forRoot({ limit: 1, window: '1d' }), 'object')
console.log('bundled')
