import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import type express from 'express'
import request from 'supertest'
import { describe, expect, it } from 'vitest'
import { trustOf } from '../../../src/hosts/express/internals.js'
import { hostOf } from '../../../src/hosts/host-of.js'

const require = createRequire(import.meta.url)
/** The oldest version that is supported, and the newest of each line. */
const versions = ['express418', 'express4', 'express'] as const

describe.each(versions)('what we rely on of %s', (name) => {
  const factory = require(name) as typeof express

  it('is of the version that it is to be', () => {
    const { version } = require(`${name}/package.json`) as { version: string }
    expect(version).toMatch({ express418: /^4\.18\.0$/, express4: /^4\.\d+/, express: /^5\./ }[name])
  })

  it.each([
    ['loopback', '127.0.0.1', 0, true],
    ['loopback', '203.0.113.1', 0, false],
    [['10.0.0.0/8'], '10.1.2.3', 1, true],
    [1, '203.0.113.1', 0, true],
    [1, '203.0.113.1', 1, false],
    [true, '203.0.113.1', 7, true]
  ])('`trust proxy` %j says of %s at hop %i: %j', (setting, address, hop, expected) => {
    const app = factory()
    app.set('trust proxy', setting)
    const hops = [...Array<string>(hop).fill('10.0.0.1'), address]
    expect(trustOf(app)?.(hops)).toBe(expected ? hop + 1 : hop)
  })

  it('trusts nobody without the setting', () => {
    expect(trustOf(factory())).toBe(null)
    const app = factory()
    app.set('trust proxy', false)
    expect(trustOf(app)).toBe(null)
  })

  it('tells requests and responses from those of Fastify, inside and outside of an app', async () => {
    const found: unknown[] = []
    const app = factory()
    app.use((req, res) => {
      found.push(hostOf(res).trustOption, req.app === app)
      res.end()
    })
    await request(createServer(app)).get('/')
    expect(found).toEqual(['trust proxy', true])
  })
})

it('without `trust proxy fn` nobody is trusted', () => {
  expect(trustOf({ get: (name) => name === 'trust proxy' })).toBe(null)
  expect(trustOf({})).toBe(null)
  expect(trustOf(undefined)).toBe(null)
})
