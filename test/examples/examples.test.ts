import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
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
  ['login-guard', 9],
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

describe.each(['express', 'fastify', 'login-guard', 'threads', 'redis/express', 'redis/fastify'])(
  'examples/%s.js',
  (name) => {
    it('says how to choose another port where its own is taken', { timeout }, async () => {
      const other = createServer().listen(0, '127.0.0.1')
      await once(other, 'listening')
      const { port } = other.address() as AddressInfo
      try {
        const server = start(folder, name, { PORT: String(port) })
        const said = text(server.stderr!)
        const [code] = await once(server, 'exit')
        expect(code).toBe(1)
        expect(await said).toMatch(`Cannot listen on port ${port}, set PORT to another one: `)
        expect((await said).trim().split('\n')).toHaveLength(1)
      } finally {
        other.close()
      }
    })
  }
)

describe.each(['express', 'fastify'])('examples/%s.js', (name) => {
  it('stands any request', { timeout }, async () => {
    const server = start(folder, name)
    try {
      const [line] = await printedLines(server)
      const url = /http[^ ]+(?=\/)/.exec(line!)![0]
      const words = ['', 'constructor', '__proto__', 'toString', 'Bearer __proto__', 'a'.repeat(5000)]
      const statuses = new Set<number>()
      for (const path of ['/', '/login', '/reports', '/uploads', '/health', '/%ZZ', '/constructor'])
        for (const method of ['GET', 'POST'])
          for (const word of words) {
            const headers = {
              authorization: word,
              'x-api-key': word,
              'x-plan': word,
              'x-forwarded-for': word
            }
            statuses.add((await fetch(url + path, { method, headers })).status)
          }
      expect([...statuses].filter((status) => status >= 500)).toEqual([])
    } finally {
      server.kill()
    }
  })
})
