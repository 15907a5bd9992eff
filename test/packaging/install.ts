import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildCopy, manifestOf } from './build.js'
import { outputOf } from './run.js'

/** The package as users get it. */
export interface Packed {
  readonly tarball: string
  /** Where it was built. */
  readonly folder: string
  readonly files: readonly { readonly path: string; readonly size: number }[]
}

/** Real projects, in folders named after them. */
export interface Projects {
  readonly folder: string
  readonly packed: Packed
  remove(): Promise<void>
}

/** Packs the package once and installs it with npm into each project. */
export async function installProjects(): Promise<Projects> {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-packaging-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    const packed = await pack(join(folder, 'headgate'))
    const projects = Object.entries(await beside())
    await Promise.all(
      projects.map(([name, others]) => install(join(folder, name), [packed.tarball, ...others]))
    )
    return { folder, packed, remove }
  } catch (error) {
    await remove()
    throw error
  }
}

async function pack(folder: string): Promise<Packed> {
  await buildCopy(folder)
  const report = await outputOf('npm', ['pack', '--json', '--ignore-scripts'], folder)
  const [{ filename, files }] = JSON.parse(report) as [Packed & { filename: string }]
  return { tarball: join(folder, filename), folder, files }
}

/** What is installed beside the package in each project. */
async function beside(): Promise<Record<string, readonly string[]>> {
  const types = await current('@types/node')
  const newest = ['express', 'fastify', 'typescript', '@types/express'].map(current)
  return {
    current: [types, ...(await Promise.all(newest)), 'typescript7@npm:typescript@7.0.2'],
    'express-only': [types, await lowest('express'), '@types/express@4.17.21'],
    'fastify-only': [types, await lowest('fastify')],
    'core-only': []
  }
}

async function current(name: string): Promise<string> {
  return `${name}@${(await manifestOf(name)).version}`
}

/** The first version of a peer's range such as `^4.18.0 || ^5.0.0`. */
async function lowest(name: string): Promise<string> {
  const { peerDependencies } = await manifestOf()
  return `${name}@${/\d+\.\d+\.\d+/.exec(peerDependencies[name] ?? '')}`
}

/** A project with the sources of `projects/` in a package of either type. */
async function install(project: string, specs: readonly string[]): Promise<void> {
  await mkdir(project)
  await writeFile(join(project, 'package.json'), JSON.stringify({ private: true }))
  for (const type of ['module', 'commonjs']) {
    await cp(join(import.meta.dirname, 'projects'), join(project, type), { recursive: true })
    await writeFile(join(project, type, 'package.json'), JSON.stringify({ type }))
  }
  const flags = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts']
  await outputOf('npm', ['install', ...flags, ...specs], project)
}
