import { cp, readFile, symlink } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { outputOf } from './run.js'

const root = resolve(import.meta.dirname, '../..')
const left = ['node_modules', 'dist', '.git', 'coverage']

/** The parts of a manifest that are asked for here. */
interface Manifest {
  readonly version: string
  readonly peerDependencies: Readonly<Record<string, string>>
}

/** Builds a copy of the working tree, so that nobody who builds meanwhile is in the way. */
export async function buildCopy(folder: string): Promise<void> {
  await cp(root, folder, { recursive: true, filter: (path) => !left.includes(basename(path)) })
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  await outputOf('npm', ['run', 'build'], folder)
}

/** The manifest of this package, or of one that is installed beside it. */
export async function manifestOf(name?: string): Promise<Manifest> {
  const folder = name === undefined ? root : join(root, 'node_modules', name)
  return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
}
