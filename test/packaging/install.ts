import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildCopy } from './build.js'
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

/** What is installed beside the package in each project, by its name. */
export type Beside = Readonly<Record<string, readonly string[]>>

/** Packs the package once and installs it with npm into each project. All of them find `tools`, installed once. */
export async function installProjects(beside: Beside, tools: readonly string[] = []): Promise<Projects> {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-packaging-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    const [packed] = await Promise.all([pack(join(folder, 'headgate')), install(folder, tools)])
    const projects = Object.entries(beside).map(async ([name, others]) => {
      await addSources(join(folder, name))
      await install(join(folder, name), [packed.tarball, ...others])
    })
    await Promise.all(projects)
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
  for (const type of ['module', 'commonjs']) {
    await cp(join(import.meta.dirname, 'projects'), join(project, type), { recursive: true })
    await writeFile(join(project, type, 'package.json'), JSON.stringify({ type }))
  }
}

/** Installs packages. Peers that do not fit are an error, where npm would warn of some. */
async function install(project: string, specs: readonly string[]): Promise<void> {
  await writeFile(join(project, 'package.json'), JSON.stringify({ private: true }))
  const flags = ['--strict-peer-deps', '--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts']
  if (specs.length > 0) await outputOf('npm', ['install', ...flags, ...specs], project)
}
