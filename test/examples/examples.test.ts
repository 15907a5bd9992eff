import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildCopy } from '../packaging/build.js'
import { failings, printedLines, start } from './curl-lines.js'

const timeout = 120_000
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-examples-'))
  await buildCopy(folder)
}, timeout)

afterAll(() => rm(folder, { recursive: true, force: true }))

describe.each([
  ['express', 6],
  ['fastify', 6],
  ['threads', 2]
])('examples/%s.js', (name, least) => {
  it('answers its curl lines as it says', { timeout }, async () => {
    const server = start(folder, name)
    try {
      const lines = await printedLines(server)
      expect(lines.length).toBeGreaterThanOrEqual(least)
      for (const line of lines) expect(await failings(line), line).toEqual([])
    } finally {
      server.kill()
    }
    expect(await text(server.stderr!)).toBe('')
  })
})
