import { describe, expect, it } from 'vitest'
import { run } from '../support/readme.js'
import { servers } from './support/stores.js'

describe.skipIf(servers === null)('the README’s Redis example', () => {
  it('counts in Redis for several processes', () => {
    const check = `
      const server = app.listen(0)
      const url = 'http://localhost:' + server.address().port
      const responses = [await fetch(url + '/'), await fetch(url + '/health')]
      const seen = responses.map((response) => response.headers.get('ratelimit-remaining'))
      console.log(JSON.stringify([...seen, await responses[1].json(), await client.pttl((await client.keys('*:api:*'))[0]) > 0]))
      server.close()
      server.closeAllConnections()
      await store.close()
      client.disconnect()`
    // A database of its own: its limiter has the name and the prefix that every reader's has.
    const REDIS_URL = `redis://127.0.0.1:${servers!.single}/9`
    const first = run('redis', check, { REDIS_URL }) as unknown[]
    const second = run('redis', check, { REDIS_URL }) as unknown[]
    expect(first.slice(2)).toEqual([{ redis: true }, true])
    const [before, after] = [Number(first[1]), Number(second[1])]
    // Unless a window of the clock ended between the two.
    expect([before - 2, 98]).toContain(after)
  })
})
