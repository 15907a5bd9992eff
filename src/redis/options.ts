import { badOption, type TableOf } from '../core/options.js'
import { flag } from '../core/readers.js'
import { checkStoreOptions, type RemoteStoreOptions, remoteStoreOptions } from '../remote/options.js'

/** Options of `redisStore`. */
export interface RedisStoreOptions extends RemoteStoreOptions {
  /** The prefix of every key; `'headgate:'` if left out. Limiters of one prefix, name and rule count together. */
  readonly prefix?: string | undefined
  /** True if a client that is a function leads to a cluster. Other clients show it. */
  readonly cluster?: boolean | undefined
}

/** The options, read. */
export interface RedisSettings {
  readonly prefix: string
  readonly isCluster: boolean
  /** What every remote store has, to be read by it. */
  readonly remote: RemoteStoreOptions
}

/** How those are read; `remoteStore` reads its own. */
const redisStoreOptions = {
  prefix: { read: prefixOf },
  ...remoteStoreOptions,
  cluster: { read: flag }
} as const satisfies TableOf<RedisStoreOptions>

/** @throws HeadgateError that names the option, the value and the fix */
export function readOptions(options: RedisStoreOptions): RedisSettings {
  checkStoreOptions(options, redisStoreOptions, 'redisStore', "{ prefix: 'api:' }")
  const { prefix, cluster, ...remote } = options
  return {
    prefix: redisStoreOptions.prefix.read('prefix', prefix),
    isCluster: redisStoreOptions.cluster.read('cluster', cluster),
    remote
  }
}

/** A prefix with a brace of its own would take the hash tag's place. */
function prefixOf(option: string, prefix: unknown): string {
  if (prefix === undefined) return 'headgate:'
  if (typeof prefix === 'string' && /^[\x21-\x7e]{1,128}$/.test(prefix) && !/[{}]/.test(prefix)) return prefix
  throw badOption(option, prefix, 'give 1 to 128 printable ASCII characters without { and }')
}
