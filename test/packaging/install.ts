import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { buildCopy } from './build.js'
import { outputOf } from './run.js'
import { type Beside, projects, tools } from './versions.js'

export type ProjectName = keyof typeof projects | 'core-only'

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

const names = Object.keys(projects) as (keyof typeof projects)[]

/**
 * Packs the package and lets npm install it into a project of its own, `core-only`. The others have what npm made of it
 * there, a copy each, for a package finds its peers beside itself; and links to what is installed for all tests.
 */
export async function installProjects(wanted: readonly ProjectName[]): Promise<Projects> {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-packaging-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    const packed = await pack(join(folder, 'headgate'))
    await link(folder, tools)
    const core = join(folder, 'core-only')
    await addSources(core)
    await installTarball(core, packed.tarball)
    for (const name of names.filter((name) => wanted.includes(name))) {
      await addSources(join(folder, name))
      await cp(join(core, 'node_modules'), join(folder, name, 'node_modules'), { recursive: true })
      await link(join(folder, name), projects[name])
    }
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

/** The sources of `projects/` in a package of either type. */
async function addSources(project: string): Promise<void> {
  await mkdir(project)
  await writeFile(join(project, 'package.json'), JSON.stringify({ private: true }))
  for (const type of ['module', 'commonjs']) {
    await cp(join(import.meta.dirname, 'projects'), join(project, type), { recursive: true })
    await writeFile(join(project, type, 'package.json'), JSON.stringify({ type }))
  }
}

async function installTarball(project: string, tarball: string): Promise<void> {
  const flags = ['--strict-peer-deps', '--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts']
  await outputOf('npm', ['install', ...flags, tarball], project)
}

async function link(project: string, beside: Beside): Promise<void> {
  for (const [folder, packages] of Object.entries(beside))
    for (const name of packages) {
      const path = join(project, 'node_modules', name)
      await mkdir(dirname(path), { recursive: true })
      await symlink(join(folder, name), path)
    }
}

/** The version of a package that a project stands on. */
export async function versionIn(
  name: keyof typeof projects,
  dependency: string
): Promise<string | undefined> {
  const [folder] =
    Object.entries<readonly string[]>(projects[name]).find(([, all]) => all.includes(dependency)) ?? []
  if (folder === undefined) return undefined
  return JSON.parse(await readFile(resolve(folder, dependency, 'package.json'), 'utf8')).version
}
