import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'tsdown'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const script = `
import { createLimiter, memoryStore } from './index.mjs'
const limiter = createLimiter({ limit: 2, window: '1h', block: '30d', store: memoryStore({ maxKeys: 10 }) })
const answers = [1, 2, 3].map(() => limiter.consume('key').allowed)
limiter.block('other', Infinity)
console.log(answers.join(), process.getActiveResourcesInfo().filter((name) => /Timeout|Immediate/.test(name)).length)
`

describe('MEM-04: an idle limiter', () => {
  let folder = ''

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headgate-idle-'))
    await build({
      config: false,
      entry: ['src/index.ts'],
      outDir: folder,
      format: 'esm',
      dts: false,
      noExternal: [/./],
      logLevel: 'silent'
    })
    await writeFile(join(folder, 'idle.mjs'), script)
  })

  afterAll(() => rm(folder, { recursive: true, force: true }))

  it('does not keep the process alive', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'idle.mjs')], {
      timeout: 2000
    })
    expect(stdout.trim()).toBe('true,true,false 0')
  })
})
