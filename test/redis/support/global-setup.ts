import type { TestProject } from 'vitest/node'
import { ensureRedis } from './install.js'
import { startCluster, startSingle } from './servers.js'

/** The servers that all test files of one run share, each with keys of its own. */
export interface SharedRedis {
  /** The port of a single server. */
  readonly single: number
  /** The ports of a cluster's nodes, the masters first. */
  readonly cluster: readonly number[]
}

declare module 'vitest' {
  export interface ProvidedContext {
    /** Null where there is no Redis to test with. */
    redis: SharedRedis | null
  }
}

/** Starts what the test files share, and gives the end of it. Vitest calls it if there is a file to run. */
export default async function setup({ vitest }: TestProject): Promise<(() => Promise<void>) | undefined> {
  const run = vitest.getRootProject()
  // Another project of the same run has started them.
  if ('redis' in run.getProvidedContext()) return undefined
  if (!(await ensureRedis())) {
    run.provide('redis', null)
    return undefined
  }
  const [single, cluster] = await Promise.all([startSingle(), startCluster()])
  run.provide('redis', { single: single.port, cluster: cluster.ports })
  return async () => void (await Promise.all([single.stop(), cluster.stop()]))
}
