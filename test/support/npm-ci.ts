import { execFile } from 'node:child_process'
import { cp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** Installs what the lock file of a folder says, unless it is there. */
export async function npmCi(folder: string): Promise<void> {
  const lock = join(folder, 'package-lock.json')
  const done = join(folder, 'node_modules/.of-package-lock.json')
  if ((await readFile(lock, 'utf8')) === (await readFile(done, 'utf8').catch(() => null))) return
  const flags = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts']
  await promisify(execFile)('npm', ['ci', ...flags], { cwd: folder })
  await cp(lock, done)
}
