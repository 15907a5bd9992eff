import { Redis } from 'ioredis'
import { createLimiter } from '../../../src/index.js'
import { redisStore } from '../../../src/redis/index.js'

/** What a process is to do: work with permits until it is told to stop, or hold some and tell when it has lost them. */
export interface PermitWork {
  readonly port: number
  readonly prefix: string
  readonly concurrency: number
  readonly leaseMs: number
  readonly kind: 'work' | 'hold'
}

/*
 * Notes outside of the limiter how many permits living processes hold: each holder adds to its process's field once it has
 * taken permits, and takes that away before it releases them.
 */
const note = `
redis.call('HINCRBY', KEYS[1], ARGV[1], ARGV[2])
local sum = 0
for _, count in ipairs(redis.call('HVALS', KEYS[1])) do sum = sum + count end
if sum > tonumber(redis.call('GET', KEYS[2]) or 0) then redis.call('SET', KEYS[2], sum) end`

let isStopping = false
let stop = () => {}
const stopped = new Promise<void>((resolve) => {
  stop = resolve
})
const work = await new Promise<PermitWork>((begin) => {
  // What comes next may come in the same turn.
  process.on('message', (message) => {
    if (message !== 'stop') return begin(message as PermitWork)
    isStopping = true
    stop()
  })
})
const { port, prefix, concurrency, leaseMs } = work
const client = new Redis({ port, host: '127.0.0.1' })
const store = redisStore(client, { prefix, leaseMs, deadline: '5s', onStoreError: 'deny' })
const limiter = createLimiter({ name: 'jobs', concurrency, store })
const turn = () => new Promise((go) => setImmediate(go))
let [admitted, lost] = [0, 0]

async function perform(): Promise<void> {
  const cost = 1 + Math.floor(Math.random() * 3)
  const permit = await limiter.acquire('key', cost)
  if (!permit.allowed) return void (await turn())
  admitted++
  const observe = (by: number) => client.eval(note, 2, `${prefix}out`, `${prefix}most`, process.pid, by)
  await observe(cost)
  for (let turns = Math.random() * 20; turns > 0; turns--) await turn()
  await observe(-cost)
  if (permit.isLost) lost++
  permit.release()
}

async function workOn(): Promise<void> {
  while (!isStopping) await perform()
}

if (work.kind === 'hold') {
  const permit = await limiter.acquire('key', concurrency)
  process.send!({ isHeld: permit.allowed })
  while (!permit.isLost) await turn()
  process.send!({ isLost: true })
  await stopped
  permit.release()
} else {
  await Promise.all(Array.from({ length: 5 }, workOn))
  process.send!({ admitted, lost })
}
await limiter.peek('key')
client.disconnect()
process.disconnect()
