import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildCopy } from '../packaging/build.js'
import { outputOf } from '../packaging/run.js'
import { failings, printedLines, start } from './curl-lines.js'

const timeout = 120_000
let folder: string
let server: ChildProcess
let stderr: Promise<string>
let lines: readonly string[]

describe('examples/nest', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headgate-nest-example-'))
    await buildCopy(folder)
    await outputOf('npx', ['tsc', '-p', 'examples/nest'], folder)
    server = start(folder, 'nest/dist/main')
    stderr = text(server.stderr!)
    lines = await printedLines(server)
  }, timeout)

  afterAll(async () => {
    server?.kill('SIGKILL')
    await rm(folder, { recursive: true, force: true })
  })

  it('answers its curl lines as it says', { timeout }, async () => {
    const curls = lines.filter((line) => line.startsWith('curl '))
    expect(curls.length).toBeGreaterThan(10)
    for (const line of curls) expect(await failings(line), line).toEqual([])
  })

  it('answers in its chat as it says', { timeout }, async () => {
    const [line, ...others] = lines.filter((line) => line.startsWith('node '))
    const [, parameters, stated] = /^node (.+?) +# (.+)$/.exec(line!)!
    const said = await outputOf(process.execPath, parameters!.split(' '), folder)
    const events = said
      .trim()
      .split('\n')
      .map((answer) => JSON.parse(answer).event)
    expect([events.join(', '), others]).toEqual([stated, []])
  })

  it('stops in order', { timeout }, async () => {
    const exit = once(server, 'exit')
    server.kill('SIGTERM')
    const [code, signal] = await exit
    expect([code ?? signal, await stderr]).toEqual(['SIGTERM', ''])
  })
})
