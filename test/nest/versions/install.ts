import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { TestProject } from 'vitest/node'

/** Installs the versions of Nest that projects are named after, all at once, unless they are there. */
export default async function setup({ vitest }: TestProject): Promise<void> {
  const versions = vitest.projects.flatMap(({ name }) => /^nest (\d+)$/.exec(name)?.[1] ?? [])
  await Promise.all(versions.map(install))
}

async function install(version: string): Promise<void> {
  const folder = join(import.meta.dirname, version)
  if (existsSync(join(folder, 'node_modules/.package-lock.json'))) return
  const flags = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts']
  await promisify(execFile)('npm', ['ci', ...flags], { cwd: folder })
}
