import 'reflect-metadata'
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import * as asModule from 'headgate/nest'

const asCommonJS = createRequire(import.meta.url)('headgate/nest')

assert.deepEqual({ ...asModule }, { ...asCommonJS })
assert.equal(typeof asModule.RateLimitModule.forRoot, 'function')
