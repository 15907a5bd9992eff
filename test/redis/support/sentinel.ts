import { ask, askText } from './ask.js'
import { type Server, startServer } from './server.js'
import { until } from './until.js'

/** One master with two replicas, and three sentinels that watch over them. */
export interface Sentinel {
  /** What the sentinels call the master. */
  readonly name: string
  /** As it was at the start. */
  readonly master: Server
  readonly replicas: readonly Server[]
  readonly sentinels: readonly Server[]
  readonly sentinelPorts: readonly number[]
  /** The port of the master now. Rejects while the sentinels that answer disagree. */
  masterPort(): Promise<number>
  stop(): Promise<void>
}

const name = 'headgate'
const quorum = 2

/** Starts them, and waits until all sentinels know everybody. */
export async function startSentinel(): Promise<Sentinel> {
  const master = await startServer(replicating())
  const replicas = await Promise.all([1, 2].map(() => startServer(replicating(master))))
  const servers = [master, ...replicas]
  const stop = async () => void (await Promise.all(servers.map((server) => server.kill9())))
  try {
    await until('the replicas are in step', async () => {
      const info = await askText(master.port, 'INFO', 'replication')
      return info.match(/state=online/g)?.length === replicas.length
    })
    const sentinels = await Promise.all([1, 2, 3].map(() => startWatching(master.port)))
    servers.push(...sentinels)
    const sentinelPorts = sentinels.map(({ port }) => port)
    await until('the sentinels know everybody', async () =>
      (
        await Promise.all(sentinelPorts.map((port) => knows(port, replicas.length, sentinels.length - 1)))
      ).every(Boolean)
    )
    return {
      name,
      master,
      replicas,
      sentinels,
      sentinelPorts,
      masterPort: () => masterPort(sentinelPorts),
      stop
    }
  } catch (error) {
    await stop()
    throw error
  }
}

function replicating(master?: Server) {
  const of = master ? ['--replicaof', '127.0.0.1', `${master.port}`] : []
  return { settings: ['--repl-diskless-sync-delay', '0', ...of] }
}

async function startWatching(master: number): Promise<Server> {
  const sentinel = await startServer({
    settings: ['--sentinel'],
    configuration: [
      `sentinel monitor ${name} 127.0.0.1 ${master} ${quorum}`,
      `sentinel down-after-milliseconds ${name} 500`,
      `sentinel failover-timeout ${name} 2000`,
      ''
    ]
  })
  // How often they speak is no setting. Redis 6 has not even this, and takes some seconds more.
  const often = ['hello', 'publish', 'info', 'ping', 'ask'].flatMap((what) => [`${what}-period`, '100'])
  await ask(sentinel.port, 'SENTINEL', 'DEBUG', ...often).catch(() => {})
  return sentinel
}

/** True once a sentinel sees so many replicas and other sentinels, all of them well. */
async function knows(port: number, replicas: number, others: number): Promise<boolean> {
  const master = pairs((await ask(port, 'SENTINEL', 'MASTER', name)) as string[])
  const slaves = (await ask(port, 'SENTINEL', 'SLAVES', name)) as string[][]
  const sentinels = (await ask(port, 'SENTINEL', 'SENTINELS', name)) as string[][]
  return (
    master.get('flags') === 'master' &&
    slaves.map(pairs).filter((slave) => slave.get('flags') === 'slave').length === replicas &&
    sentinels.map(pairs).filter((other) => other.get('flags') === 'sentinel').length === others
  )
}

function pairs(flat: readonly string[]): ReadonlyMap<string, string> {
  return new Map(flat.flatMap((key, index) => (index % 2 === 0 ? [[key, flat[index + 1] ?? '']] : [])))
}

async function masterPort(sentinels: readonly number[]): Promise<number> {
  const asked = sentinels.map((port) => ask(port, 'SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name))
  const answered = (await Promise.allSettled(asked)).filter((answer) => answer.status === 'fulfilled')
  const [port, ...others] = new Set(answered.map(({ value }) => Number((value as string[])[1])))
  if (port === undefined || others.length > 0) throw new Error('the sentinels disagree')
  return port
}
