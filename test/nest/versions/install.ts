import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { TestProject } from 'vitest/node'

/** Installs the version of Nest that a project is named after, unless it is there. */
export default async function setup({ name }: TestProject): Promise<void> {
  const folder = join(import.meta.dirname, /\d+$/.exec(name)![0])
  if (existsSync(join(folder, 'node_modules/.package-lock.json'))) return
  const flags = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts']
  await promisify(execFile)('npm', ['ci', ...flags], { cwd: folder })
}
