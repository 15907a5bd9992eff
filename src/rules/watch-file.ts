import type { FSWatcher } from 'node:fs'

const { realpathSync, watch, watchFile: poll, unwatchFile } = process.getBuiltinModule('node:fs')
const { basename, dirname } = process.getBuiltinModule('node:path')
const { fileURLToPath } = process.getBuiltinModule('node:url')

/** What watches a file. */
export interface FileWatch {
  close(): void
}

/** Editors write a file in several steps: what comes within so many ms is one change. */
const quietMs = 50
/** A file that changes on and on is taken up as it is, so many ms after the first change. */
const latestMs = 1000
/** How often a file is looked at that the system tells nothing of, such as one behind a link. */
const pollMs = 2000

/**
 * Calls back when a file may have changed, also where it is replaced by another of its name. It keeps no process alive.
 */
export function watchFile(file: string | URL, changed: () => void): FileWatch {
  const path = typeof file === 'string' ? file : fileURLToPath(file)
  let quiet: NodeJS.Timeout | undefined
  let latest: NodeJS.Timeout | undefined
  const forget = () => {
    clearTimeout(quiet)
    clearTimeout(latest)
    latest = undefined
  }
  const take = () => {
    forget()
    changed()
  }
  const later = () => {
    clearTimeout(quiet)
    quiet = setTimeout(take, quietMs).unref()
    latest ??= setTimeout(take, latestMs).unref()
  }
  const watchers = foldersOf(path).map(([folder, name]) => watchFolder(folder, name, later))
  // Links of links, as of volumes of Kubernetes, change where nobody watches; so do network drives.
  poll(path, { interval: pollMs, persistent: false }, later)
  return {
    close() {
      forget()
      for (const watcher of watchers) watcher?.close()
      unwatchFile(path, later)
    }
  }
}

/** The folder of a file, and that of the file which it is a link to. A folder tells of files that are replaced. */
function foldersOf(path: string): readonly (readonly [folder: string, name: string])[] {
  const places = new Map([[dirname(path), basename(path)]])
  try {
    const real = realpathSync(path)
    if (dirname(real) !== realpathSync(dirname(path))) places.set(dirname(real), basename(real))
  } catch {
    // It was there a moment ago; the folder tells when it is back.
  }
  return [...places]
}

function watchFolder(folder: string, name: string, changed: () => void): FSWatcher | null {
  try {
    const watcher = watch(folder, { persistent: false }, (_event, changedName) => {
      if (changedName === null || changedName === name) changed()
    })
    watcher.on('error', () => watcher.close())
    return watcher
  } catch {
    return null
  }
}
