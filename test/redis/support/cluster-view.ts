import { ask, askText } from './ask.js'

/** How many slots a cluster has. */
export const slotCount = 16_384

/** A node as another one sees it. */
export interface NodeView {
  readonly id: string
  readonly port: number
  readonly role: 'master' | 'replica'
  /** The id of its master. */
  readonly masterId?: string
  readonly isConnected: boolean
  /** The higher one wins where two say that they have a slot. */
  readonly epoch: number
  /** True for the node that was asked. */
  readonly isSelf: boolean
  /** First and last, both of them included. */
  readonly slots: readonly (readonly [number, number])[]
}

/** What the node on this port knows of the nodes of its cluster. */
export async function viewFrom(port: number): Promise<readonly NodeView[]> {
  const lines = (await askText(port, 'CLUSTER', 'NODES')).trim().split('\n')
  return lines.map((line) => parseNode(line.split(' ')))
}

function parseNode(fields: readonly string[]): NodeView {
  const [id = '', address = '', flags = '', master = '', _ping, _pong, epoch, link, ...slots] = fields
  const isReplica = flags.includes('slave')
  return {
    id,
    port: Number(/:(\d+)/.exec(address)?.[1]),
    role: isReplica ? 'replica' : 'master',
    ...(isReplica && { masterId: master }),
    isConnected: link === 'connected' && !/fail|handshake|noaddr/.test(flags),
    epoch: Number(epoch),
    isSelf: flags.includes('myself'),
    // One that is being moved stands in brackets.
    slots: slots.filter((range) => !range.startsWith('[')).map(parseRange)
  }
}

function parseRange(range: string): readonly [number, number] {
  const [first, last = first] = range.split('-').map(Number)
  return [first!, last!]
}

/** True once all of these nodes see the same cluster, all of it healthy and every replica in step with its master. */
export async function isAgreed(ports: readonly number[]): Promise<boolean> {
  const views = await Promise.all(ports.map(viewFrom))
  if (new Set(views.map((nodes) => nodes.map(signature).sort().join())).size !== 1) return false
  return (
    views.flat().every(({ isConnected }) => isConnected) &&
    (await Promise.all(ports.map(isWell))).every(Boolean)
  )
}

function signature({ id, port, role, masterId, slots }: NodeView): string {
  return JSON.stringify([id, port, role, masterId, slots])
}

async function isWell(port: number): Promise<boolean> {
  const cluster = await askText(port, 'CLUSTER', 'INFO')
  const replication = await askText(port, 'INFO', 'replication')
  return (
    cluster.includes('cluster_state:ok') &&
    cluster.includes(`cluster_slots_assigned:${slotCount}`) &&
    !/master_link_status:down|state=(?!online)/.test(replication)
  )
}

/** The master of a slot, which says so itself: the others hear of a change only after a while. */
export async function ownerOf(ports: readonly number[], slot: number): Promise<NodeView> {
  const views = await Promise.allSettled(ports.map(viewFrom))
  const nodes = views.flatMap((view) =>
    view.status === 'fulfilled' ? view.value.filter(({ isSelf }) => isSelf) : []
  )
  const owners = nodes.filter(({ slots }) => slots.some(([first, last]) => first <= slot && slot <= last))
  const [owner] = owners.sort((one, other) => other.epoch - one.epoch)
  if (!owner) throw new Error(`nobody has slot ${slot}`)
  return owner
}

/** The slot of a key. */
export async function slotOf(port: number, key: string): Promise<number> {
  return Number(await ask(port, 'CLUSTER', 'KEYSLOT', Buffer.from(key).toString('latin1')))
}
