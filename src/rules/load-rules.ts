import { badOption, checkNames } from '../core/options.js'
import { flag } from '../core/readers.js'
import { warn } from '../core/warn.js'
import type { RequestRules, RuleTable } from '../http/request-rules.js'
import { RulesError } from './problems.js'
import { readRules } from './read-rules.js'
import type { IndexedRules } from './rule-table.js'
import { type FileWatch, watchFile } from './watch-file.js'

const { readFileSync } = process.getBuiltinModule('node:fs')
const { resolve } = process.getBuiltinModule('node:path')

/** Options of `loadRules`. */
export interface LoadRulesOptions {
  /** Takes up the file whenever it changes; false if left out. It does not keep the process alive. */
  readonly watch?: boolean | undefined
  /** Hears of a change that could not be taken up. A process warning tells of it as well if left out. */
  readonly onError?: ((error: Error) => void) | undefined
}

/** What a change of a file has changed: rules by their labels. */
export interface RuleChanges {
  readonly added: readonly string[]
  readonly removed: readonly string[]
  /** How many say the same as before: their counters go on. */
  readonly kept: number
}

/** Rules for the option `rules` of a middleware, a plugin or a module. One may serve several. */
export interface LoadedRules extends RequestRules {
  /**
   * Reads the file again. What has changed counts anew, what says the same goes on. A file that is wrong changes nothing.
   * @throws RulesError, and HeadgateError for rules that do not go with the options around them
   */
  reload(): RuleChanges
  /** Stops watching the file. */
  close(): void
}

/**
 * Loads a file of rules: YAML, or JSON.
 * @param path from where the process is now; it stays the same file wherever the process goes later
 * @example app.use(rateLimit({ rules: loadRules('limits.yaml', { watch: true }) }))
 * @throws RulesError (`HEADGATE_BAD_RULES`) with all that is wrong, each with its line
 */
export function loadRules(path: string | URL, options: LoadRulesOptions = {}): LoadedRules {
  if (typeof path !== 'string' && !(path instanceof URL))
    throw badOption('path', path, "give the path of a file, such as 'limits.yaml'")
  checkNames(options, ['watch', 'onError'], 'loadRules')
  const { onError } = options
  if (onError !== undefined && typeof onError !== 'function')
    throw badOption('onError', onError, 'give a function')
  return new RuleFile(path, flag('watch', options.watch), onError)
}

/**
 * Rules of a text, such as one that a service of configuration gives. They do not change.
 * @param file what messages call it
 * @throws RulesError (`HEADGATE_BAD_RULES`) with all that is wrong, each with its line
 */
export function parseRules(text: string, { file = 'rules' }: { readonly file?: string } = {}): RequestRules {
  if (typeof text !== 'string') throw badOption('text', text, 'give the text of a file of rules')
  const { table } = readRules(text, file)
  return { table, follow() {} }
}

class RuleFile implements LoadedRules {
  /** What messages call it: as it was given. */
  readonly #name: string
  readonly #path: string | URL
  readonly #onError: ((error: Error) => void) | undefined
  readonly #followers: ((next: RuleTable) => () => void)[] = []
  readonly #watch: FileWatch | null
  #table: IndexedRules
  #text: string

  constructor(path: string | URL, watches: boolean, onError: ((error: Error) => void) | undefined) {
    this.#name = typeof path === 'string' ? path : path.pathname
    this.#path = typeof path === 'string' ? resolve(path) : path
    this.#onError = onError
    this.#text = this.#read()
    this.#table = readRules(this.#text, this.#name).table
    this.#watch = watches ? watchFile(this.#path, () => this.#look()) : null
  }

  get table(): IndexedRules {
    return this.#table
  }

  follow(prepare: (next: RuleTable) => () => void): void {
    this.#followers.push(prepare)
  }

  reload(): RuleChanges {
    return this.#take(this.#read())
  }

  close(): void {
    this.#watch?.close()
  }

  #take(text: string): RuleChanges {
    const before = this.#table
    const { table } = readRules(text, this.#name)
    // All get ready before anybody changes.
    const commits = this.#followers.map((prepare) => prepare(table))
    for (const commit of commits) commit()
    this.#table = table
    this.#text = text
    return changesOf(before, table)
  }

  #read(): string {
    try {
      return readFileSync(this.#path, 'utf8')
    } catch (cause) {
      const message = `the file cannot be read: ${(cause as Error).message}`
      throw new RulesError([{ file: this.#name, line: 1, column: 1, message }], { cause })
    }
  }

  /** The file may have changed. */
  #look(): void {
    try {
      const text = this.#read()
      if (text !== this.#text) this.#take(text)
    } catch (error) {
      if (this.#onError !== undefined) this.#onError(error as Error)
      else
        warn(
          'HEADGATE_RULES_NOT_RELOADED',
          `A change of ${this.#name} is not taken up, the rules before it hold on:\n${(error as Error).message}`
        )
    }
  }
}

function changesOf(before: IndexedRules, after: IndexedRules): RuleChanges {
  const [old, now] = [before, after].map(({ rules }) => new Set(rules.map(({ id }) => id)))
  const added = after.rules.filter(({ id }) => !old!.has(id)).map(({ label }) => label)
  const removed = before.rules.filter(({ id }) => !now!.has(id)).map(({ label }) => label)
  return { added, removed, kept: after.rules.length - added.length }
}
