import Fastify from 'fastify'
import { describe, expect, it } from 'vitest'
import fastifyLimit from '../../src/fastify/index.js'
import { parseRules } from '../../src/rules/index.js'
import { manualClock } from '../http/behaviour/harness.js'

/*
 * The examples of envoyproxy/ratelimit, README.md, "Examples", by hand: an entry of a descriptor is a header `x-KEY`, and a
 * request that sends several descriptors is one with the headers of all of them. What is expected is what that page says.
 */

type Entries = Readonly<Record<string, string>>

/** A server by these rules: how many of so many requests it admits, all in one second. */
async function envoy(text: string) {
  const app = Fastify()
  const clock = manualClock()
  await app.register(fastifyLimit, { rules: parseRules(text), now: clock.read })
  app.get('/*', () => 'ok')
  const admitted = async (count: number, entries: Entries, url = '/') => {
    const headers = Object.fromEntries(Object.entries(entries).map(([key, value]) => [`x-${key}`, value]))
    let served = 0
    for (let i = 0; i < count; i++) if ((await app.inject({ url, headers })).statusCode === 200) served++
    return served
  }
  return { admitted, clock }
}

const day = 86_400_000

describe('Envoy’s examples of descriptors', () => {
  it('1: two values of one key', async () => {
    const { admitted, clock } = await envoy(`
- { match: { header: { x-database: users } }, limit: 500, window: 1s, key: 'header:x-database' }
- { match: { header: { x-database: default } }, limit: 500, window: 1s, key: 'header:x-database' }
`)
    expect(await admitted(501, { database: 'users' })).toBe(500)
    expect(await admitted(501, { database: 'default' })).toBe(500)
    expect(await admitted(501, { database: 'other' })).toBe(501)
    clock.pass(1000)
    expect(await admitted(1, { database: 'users' })).toBe(1)
  })

  it('2: nested descriptors, and several in one request', async () => {
    const { admitted, clock } = await envoy(`
match: all
rules:
  - match: { header: { x-message_type: marketing } }
    rules:
      - { match: { header: { x-to_number: true } }, limit: 5, window: 1d, key: 'header:x-to_number' }
  - { match: { header: { x-to_number: true } }, limit: 100, window: 1d, key: 'header:x-to_number' }
`)
    const marketing = { message_type: 'marketing', to_number: '2061111111' }
    expect(await admitted(6, marketing)).toBe(5)
    expect(await admitted(6, { ...marketing, to_number: '2062222222' })).toBe(5)
    expect(await admitted(101, { to_number: '2063333333' })).toBe(100)
    // The descriptor of the type alone is only a placeholder.
    expect(await admitted(101, { message_type: 'marketing' })).toBe(101)
    clock.pass(day)
    expect(await admitted(100, { to_number: '2061111111' })).toBe(100)
    expect(await admitted(1, marketing)).toBe(0)
  })

  it('3: the most specific match first', async () => {
    const { admitted } = await envoy(`
- { match: { header: { x-remote_address: 50.0.0.5 } }, limit: 0 }
- { match: { header: { x-remote_address: true } }, limit: 10, window: 1s, key: 'header:x-remote_address' }
`)
    expect(await admitted(11, { remote_address: '50.0.0.1' })).toBe(10)
    expect(await admitted(11, { remote_address: '50.0.0.2' })).toBe(10)
    expect(await admitted(3, { remote_address: '50.0.0.5' })).toBe(0)
  })

  it('4: as many entries as levels', async () => {
    const both = { key: 'value', subkey: 'subvalue' }
    const flat = await envoy(`
- match: { header: { x-key: value, x-subkey: false } }
  limit: 300
  window: 1s
  key: 'header:x-key'
`)
    expect(await flat.admitted(301, both)).toBe(301)
    expect(await flat.admitted(301, { key: 'value' })).toBe(300)
    const nested = await envoy(`
- match: { header: { x-key: value } }
  rules:
    - { match: { header: { x-subkey: true } }, limit: 300, window: 1s, key: 'header:x-subkey' }
`)
    expect(await nested.admitted(301, both)).toBe(300)
    expect(await nested.admitted(301, { key: 'value' })).toBe(301)
  })

  it('5: without a limit', async () => {
    const { admitted } = await envoy(`
- { match: { header: { x-ldap: true } }, limit: false }
- { match: { header: { x-azure: true } }, limit: 100, window: 1m, key: 'header:x-azure' }
`)
    expect(await admitted(150, { ldap: 'a' })).toBe(150)
    expect(await admitted(150, { azure: 'a' })).toBe(100)
  })

  it('6: in shadow', async () => {
    const { admitted } = await envoy(`
- match: { header: { x-service: true } }
  key: ['header:x-service', 'header:x-user']
  rules:
    - { match: { header: { x-user: user-a } }, limit: 10, window: 1s, shadow: true }
    - { match: { header: { x-user: user-b } }, limit: 20, window: 1s }
`)
    expect(await admitted(30, { service: 'auth-service', user: 'user-a' })).toBe(30)
    expect(await admitted(30, { service: 'auth-service', user: 'user-b' })).toBe(20)
    expect(await admitted(30, { service: 'other', user: 'user-b' })).toBe(20)
  })

  it('7: one in the place of another', async () => {
    const { admitted, clock } = await envoy(`
- { match: { header: { x-key_2: value_2, x-user: bkthomps } }, limit: 10, window: 1s, key: 'header:x-user' }
- { match: { header: { x-key_1: value_1, x-user: bkthomps } }, limit: 5, window: 1s, key: 'header:x-user' }
`)
    const user = 'bkthomps'
    expect(await admitted(12, { key_1: 'value_1', key_2: 'value_2', user })).toBe(10)
    // What was replaced is as it was.
    expect(await admitted(12, { key_1: 'value_1', user })).toBe(5)
    clock.pass(1000)
    expect(await admitted(12, { key_2: 'value_2', user })).toBe(10)
  })

  it('8: a limit of its own for one value', async () => {
    const { admitted } = await envoy(`
- { match: { header: { x-key1: value1 } }, limit: 20, window: 1m, key: 'header:x-key1' }
- { match: { header: { x-key1: true } }, limit: 10, window: 1m, key: 'header:x-key1' }
`)
    expect(await admitted(30, { key1: 'unspecified_value' })).toBe(10)
    expect(await admitted(30, { key1: 'unspecified_value2' })).toBe(10)
    expect(await admitted(30, { key1: 'value1' })).toBe(20)
  })

  it('9: wildcards, of paths', async () => {
    const { admitted } = await envoy(`
- { match: { path: '/api/:any/action' }, limit: 20, window: 1m, key: path }
- { match: { path: '/api/:any/resource/:other/action' }, limit: 20, window: 1m, key: path }
`)
    for (const path of ['/api/123/action', '/api/user-id/action', '/api/v1/resource/123/action'])
      expect(await admitted(30, {}, path)).toBe(20)
    expect(await admitted(30, {}, '/api/123/other')).toBe(30)
  })

  it('10: three levels', async () => {
    const { admitted } = await envoy(`
- match: { header: { x-route: true } }
  rules:
    - match: { header: { x-http_method: true } }
      rules:
        - match: { header: { x-subject_id: true } }
          limit: 60
          window: 1m
          key: ['header:x-route', 'header:x-http_method', 'header:x-subject_id']
`)
    expect(await admitted(70, { route: 'api', http_method: 'GET', subject_id: '123' })).toBe(60)
    expect(await admitted(70, { route: 'web', http_method: 'POST', subject_id: '123' })).toBe(60)
    expect(await admitted(70, { route: 'web', http_method: 'POST' })).toBe(70)
  })
})
