import Fastify from 'fastify'
import { expect, it } from 'vitest'
import fastifyLimit from '../../src/fastify/index.js'
import type { RuleTable } from '../../src/http/request-rules.js'
import { parseRules } from '../../src/rules/index.js'
import { gate, turns, until } from '../http/behaviour/harness.js'

const busy = (concurrency: number) =>
  parseRules(`- { concurrency: ${concurrency}, queue: 5, maxWait: 1m, key: path }`)

it('a rule that changes lets those go on that wait under what it was', async () => {
  const taken: ((next: RuleTable) => () => void)[] = []
  const { table } = busy(1)
  const rules = { table, follow: (prepare: (typeof taken)[number]) => void taken.push(prepare) }
  const app = Fastify()
  await app.register(fastifyLimit, { rules })
  const held: ReturnType<typeof gate<void>>[] = []
  app.get('/', async () => {
    const one = gate<void>()
    held.push(one)
    await one.promise
    return 'ok'
  })
  const answers = [1, 2].map(() => app.inject('/'))
  await until(() => held.length === 1)
  await turns()
  for (const prepare of taken) prepare(busy(2).table)()
  await turns()
  // One waits still, and the new rule admits two of its own.
  const later = [1, 2].map(() => app.inject('/'))
  await until(() => held.length === 3)
  held[0]!.open()
  await until(() => held.length === 4)
  for (const one of held) one.open()
  const statuses = (await Promise.all([...answers, ...later])).map(({ statusCode }) => statusCode)
  expect(statuses).toEqual([200, 200, 200, 200])
  await app.close()
})
