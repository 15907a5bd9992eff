import assert from 'node:assert/strict'
import { createRequire } from 'node:module'

await assert.rejects(import('headgate/nest'), { message: /'@nestjs\/common'/ })
assert.throws(() => createRequire(import.meta.url)('headgate/nest'), { message: /'@nestjs\/common'/ })
