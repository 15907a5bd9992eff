import { ask } from './ask.js'
import { type NodeView, ownerOf, viewFrom } from './cluster-view.js'

/** How far a slot is moved. */
export interface MigrationOptions {
  /** The port of the new master. Another one than now, if left out. */
  readonly to?: number
  /**
   * `opened`: its keys are where they were, and the old master sends whoever asks for a key that it has not to the new
   * one (ASK). `moved`: so are all its keys. `done`, the default: the old master answers MOVED.
   */
  readonly until?: 'opened' | 'moved' | 'done'
}

/** A slot on its way. */
export interface Migration {
  /** The ports of the old master and of the new one. */
  readonly from: number
  readonly to: number
  /** Does the rest. */
  finish(): Promise<void>
}

/** Moves a slot from one master of a cluster to another, in the steps that are documented for CLUSTER SETSLOT. */
export async function migrateSlot(
  ports: readonly number[],
  slot: number,
  options: MigrationOptions = {}
): Promise<Migration> {
  const { to, until = 'done' } = options
  const source = await ownerOf(ports, slot)
  const masters = (await viewFrom(source.port)).filter(
    ({ role, isConnected }) => role === 'master' && isConnected
  )
  const target = masters.find(({ port }) => (to === undefined ? port !== source.port : port === to))
  if (!target) throw new Error(`no master takes slot ${slot}`)
  const move = () => moveKeys(slot, source.port, target.port)
  const finish = async () => {
    await move()
    await close(slot, target, [target, source, ...masters])
  }
  await ask(target.port, 'CLUSTER', 'SETSLOT', slot, 'IMPORTING', source.id)
  await ask(source.port, 'CLUSTER', 'SETSLOT', slot, 'MIGRATING', target.id)
  if (until === 'moved') await move()
  if (until === 'done') await finish()
  return { from: source.port, to: target.port, finish }
}

async function moveKeys(slot: number, from: number, to: number): Promise<void> {
  for (;;) {
    const keys = (await ask(from, 'CLUSTER', 'GETKEYSINSLOT', slot, 100)) as string[]
    if (keys.length === 0) return
    await ask(from, 'MIGRATE', '127.0.0.1', to, '', 0, 5_000, 'KEYS', ...keys)
  }
}

/** Tells the new master first: in the other order, for a moment, nobody would have the slot. */
async function close(slot: number, target: NodeView, masters: readonly NodeView[]): Promise<void> {
  for (const { port } of masters) await ask(port, 'CLUSTER', 'SETSLOT', slot, 'NODE', target.id)
}
