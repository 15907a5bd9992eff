import { ask } from './ask.js'
import { isAgreed, ownerOf, slotCount, viewFrom } from './cluster-view.js'
import { type Migration, type MigrationOptions, migrateSlot } from './migration.js'
import { type Server, startServer } from './server.js'
import { until } from './until.js'

/** A node of a cluster, with the role that it was given first. */
export interface ClusterNode extends Server {
  readonly id: string
  readonly role: 'master' | 'replica'
}

/** Three masters with one replica each. */
export interface Cluster {
  /** The masters first, then the replicas in the order of their masters. */
  readonly nodes: readonly ClusterNode[]
  readonly ports: readonly number[]
  /** The node that is the master of a slot now. */
  ownerOf(slot: number): Promise<ClusterNode>
  /** Resolves once all of these nodes, which are all if left out, see the same healthy cluster. */
  agreed(ports?: readonly number[]): Promise<void>
  /** Moves a slot to another master, or begins to. */
  migrateSlot(slot: number, options?: MigrationOptions): Promise<Migration>
  stop(): Promise<void>
}

/** How a cluster is started. */
export interface ClusterOptions {
  /** In ms: a master that is silent for longer is replaced. */
  readonly nodeTimeout?: number
  readonly settings?: readonly string[]
}

const masterCount = 3

/** Starts a cluster, and waits until all its nodes agree on it. */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const servers = await startNodes(options)
  const ports = servers.map(({ port }) => port)
  const stop = async () => void (await Promise.all(servers.map((server) => server.kill9())))
  const agreed = (of = ports) => until('the nodes agree', () => isAgreed(of), 20_000).then(() => undefined)
  try {
    const ids = await Promise.all(ports.map(async (port) => String(await ask(port, 'CLUSTER', 'MYID'))))
    await join(ports, ids)
    await agreed()
    const nodes = servers.map((server, index) => nodeOf(server, ids[index]!, index))
    return {
      nodes,
      ports,
      ownerOf: async (slot) => {
        const { id } = await ownerOf(ports, slot)
        return nodes.find((node) => node.id === id)!
      },
      agreed,
      migrateSlot: (slot, migration) => migrateSlot(ports, slot, migration),
      stop
    }
  } catch (error) {
    await stop()
    throw error
  }
}

function startNodes({ nodeTimeout = 1_000, settings = [] }: ClusterOptions): Promise<readonly Server[]> {
  const cluster = ['--cluster-enabled', 'yes', '--cluster-node-timeout', `${nodeTimeout}`]
  // No replica leaves its master for one that has none, and none waits for others that want the same copy.
  const replication = ['--cluster-migration-barrier', '9', '--repl-diskless-sync-delay', '0']
  const all = { settings: [...cluster, ...replication, ...settings] }
  return Promise.all(Array.from({ length: 2 * masterCount }, () => startServer(all)))
}

async function join(ports: readonly number[], ids: readonly string[]): Promise<void> {
  await Promise.all(
    ports.map(async (port, index) => {
      // Masters that begin with the same epoch would first have to settle who yields.
      await ask(port, 'CLUSTER', 'SET-CONFIG-EPOCH', index + 1)
      if (index < masterCount) await ask(port, 'CLUSTER', 'ADDSLOTS', ...slotsOf(index))
      for (const other of ports.slice(index + 1)) await ask(port, 'CLUSTER', 'MEET', '127.0.0.1', other)
    })
  )
  await until('the nodes know each other', async () => {
    const views = await Promise.all(ports.map(viewFrom))
    return views.every((nodes) => nodes.length === ports.length && nodes.every((node) => node.isConnected))
  })
  const replicas = ports.slice(masterCount)
  await Promise.all(replicas.map((port, index) => ask(port, 'CLUSTER', 'REPLICATE', ids[index]!)))
}

/** The slots of a master. `ADDSLOTSRANGE` came with Redis 7. */
function slotsOf(master: number): readonly number[] {
  const first = Math.ceil((slotCount / masterCount) * master)
  const end = Math.ceil((slotCount / masterCount) * (master + 1))
  return Array.from({ length: end - first }, (_, index) => first + index)
}

function nodeOf(server: Server, id: string, index: number): ClusterNode {
  return Object.assign(server, { id, role: index < masterCount ? ('master' as const) : ('replica' as const) })
}
