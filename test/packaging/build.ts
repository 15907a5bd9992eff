import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { basename, join, relative, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { outputOf } from './run.js'

const root = resolve(import.meta.dirname, '../..')
const left = ['node_modules', 'dist', '.git', 'coverage']
const builds = join(root, 'node_modules/.cache/headgate-builds')
/** All that a build is made of. */
const ingredients = ['src', 'faces', 'package.json', 'package-lock.json', 'tsconfig.json', 'tsdown.config.ts']

/** The parts of a manifest that are asked for here. */
interface Manifest {
  readonly version: string
  readonly peerDependencies: Readonly<Record<string, string>>
}

/**
 * Makes a copy of the working tree with its build, so that nobody who builds meanwhile is in the way. Copies of the same
 * sources share one build, whatever process asks for them.
 */
export async function buildCopy(folder: string): Promise<void> {
  await cp(root, folder, { recursive: true, filter: (path) => !left.includes(basename(path)) })
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  const built = join(builds, await digestOf(folder))
  await mkdir(builds, { recursive: true })
  const unlock = await lock(`${built}.lock`)
  try {
    if (existsSync(built)) return await cp(built, join(folder, 'dist'), { recursive: true })
    await outputOf('npm', ['run', 'build'], folder)
    await keep(join(folder, 'dist'), built)
  } finally {
    await unlock()
  }
}

/** Waits until no other process that is alive holds a lock, and takes it. */
async function lock(path: string): Promise<() => Promise<void>> {
  for (;;) {
    try {
      await writeFile(path, String(process.pid), { flag: 'wx' })
      return () => rm(path, { force: true })
    } catch {
      const holder = Number(await readFile(path, 'utf8').catch(() => ''))
      if (holder > 0 && !isAlive(holder)) await rm(path, { force: true })
      else await setTimeout(100)
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

async function digestOf(folder: string): Promise<string> {
  const digest = createHash('sha256').update(process.version)
  for (const ingredient of ingredients)
    for (const file of await filesOf(folder, ingredient))
      digest.update(`${file}\0`).update(await readFile(join(folder, file)))
  return digest.digest('hex')
}

async function filesOf(folder: string, path: string): Promise<readonly string[]> {
  const entries = await readdir(join(folder, path), { recursive: true, withFileTypes: true }).catch(
    () => null
  )
  if (entries === null) return [path]
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort()
}

/** Keeps a build whole or not at all. */
async function keep(dist: string, built: string): Promise<void> {
  const copy = await mkdtemp(join(builds, 'copy-'))
  await cp(dist, copy, { recursive: true })
  await rename(copy, built)
}

/** The manifest of this package, or of one that is installed beside it. */
export async function manifestOf(name?: string): Promise<Manifest> {
  const folder = name === undefined ? root : join(root, 'node_modules', name)
  return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
}
