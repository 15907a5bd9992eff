require('reflect-metadata')
const assert = require('node:assert/strict')
const asCommonJS = require('headgate/nest')

import('headgate/nest').then((asModule) => {
  assert.deepEqual({ ...asModule }, { ...asCommonJS })
  assert.equal(typeof asModule.RateLimitModule.forRoot, 'function')
})
