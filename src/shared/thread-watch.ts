import { warnOnce } from '../core/warn.js'

const { getEnvironmentData, isMainThread, setEnvironmentData, threadId } =
  process.getBuiltinModule('node:worker_threads')

/** Under this threads tell those that they start who they are. */
const watcherKey = 'headgate:watcher'

/** A thread that watches those that it starts, and the thread that watches it, or -1. */
interface Watcher {
  readonly thread: number
  readonly starter: number
}

/**
 * The thread that started this one, or the nearest one before that which watches: when that has ended, this one has, too.
 * -1 where none does.
 */
export const starter = starterOf(getEnvironmentData(watcherKey) as Watcher | undefined)

/** It may be what another copy of this module has set in this thread. */
function starterOf(watcher: Watcher | undefined): number {
  if (watcher === undefined) return -1
  return watcher.thread === threadId ? watcher.starter : watcher.thread
}

/** Says once a process that permits may stay out for good. */
export function warnOfUnwatched(): void {
  warnOnce(
    'HEADGATE_UNWATCHED_THREAD',
    'A worker counts what is in flight in a shared store, and the thread that started it has no part in that store: if the ' +
      'worker is terminated, what it has in flight stays counted. Make the store in the thread that starts workers, before it does.'
  )
}

/** What wants to know when threads end. */
export interface Ended {
  /** This thread is about to end. */
  leave(): void
  /** A thread has ended that this one had started. */
  clearAfter(thread: number): void
}

/** All of this thread. One is kept as long as the memory that it is for: its handle may still be given to others. */
let watching: WeakRef<Ended>[] = []
let most = 64
let isWatching = false
const keptWith = new WeakMap<object, Ended>()

/** Threads that this one has started, and that have not ended. */
let running = 0

/** Those that are kept for the sake of these threads, who may be using what this one has dropped. */
const needed = new Set<Ended>()

/**
 * Tells of the end of this thread, and of the threads that it starts from now on.
 * @param buffer the memory that it is for
 */
export function watchThreads(ended: Ended, buffer: object): void {
  watching.push(new WeakRef(ended))
  keptWith.set(buffer, ended)
  if (running > 0) needed.add(ended)
  if (watching.length > most) {
    watching = watching.filter((one) => one.deref() !== undefined)
    most = 2 * watching.length + 64
  }
  if (isWatching) return
  isWatching = true
  setEnvironmentData(watcherKey, { thread: threadId, starter })
  if (!isMainThread) process.on('exit', () => each((one) => one.leave()))
  process.on('worker', (worker) => {
    // Once it has ended it has no id any more.
    const thread = worker.threadId
    running++
    each((one) => needed.add(one))
    worker.once('exit', () => {
      each((one) => one.clearAfter(thread))
      if (--running === 0) needed.clear()
    })
  })
}

function each(act: (one: Ended) => void): void {
  for (const ref of watching) {
    const one = ref.deref()
    if (one !== undefined) act(one)
  }
}
