import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'vite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { luaText } from '../../.ci/lua-text.js'
import { createLimiter } from '../../src/index.js'
import { remoteStore } from '../../src/remote/index.js'

const root = resolve(import.meta.dirname, '../..')
const folder = join(root, `node_modules/.cache/headgate-unheard-${process.pid}`)

beforeAll(async () => {
  const entry = join(import.meta.dirname, 'unheard-child.ts')
  await build({
    ...{ configFile: false, plugins: [luaText], root, logLevel: 'error', publicDir: false },
    build: { outDir: folder, ssr: entry, target: 'node20', emptyOutDir: true, minify: false }
  })
}, 60_000)
afterAll(() => rm(folder, { recursive: true, force: true }))

const run = async (...given: string[]) => {
  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'unheard-child.js'), ...given])
  return JSON.parse(stdout) as { answer: string; learned: string[] }
}

describe('a change that a failing store does not make', () => {
  it('ends no process where nobody awaits it', async () => {
    expect(await run()).toEqual({ answer: 'served', learned: [] })
  })

  it('is told to whoever awaits it', async () => {
    const changes = ['refund', 'reset', 'block', 'clear', 'store.clear', 'limit.limiter.reset']
    const { answer, learned } = await run('awaited')
    expect(answer).toBe('served')
    expect(learned).toEqual(
      ['request.rateLimit.refund', ...changes].map((what) => `${what}: HEADGATE_STORE_FAILED`)
    )
  })

  it('is no place to hide mistakes of the program in', async () => {
    const open = () => ({ update: async () => {} })
    const backend = { name: 'the database', shardOf: () => 0, nodeOf: () => '', open }
    const limiter = createLimiter({ limit: 5, window: '1h', store: remoteStore(backend) })
    const unhandled = new Promise((hear) => process.once('unhandledRejection', hear))
    limiter.refund('key', -1)
    expect(await unhandled).toMatchObject({ code: 'HEADGATE_BAD_COST' })
  })
})
