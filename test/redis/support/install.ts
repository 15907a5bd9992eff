import { execFile } from 'node:child_process'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'

const execute = promisify(execFile)
const policy = '/usr/sbin/policy-rc.d'

/** The server to test with: `REDIS_SERVER` names another, such as that of Valkey. */
export const serverProgram = process.env.REDIS_SERVER ?? 'redis-server'

/**
 * True once the server can be run. Where it is missing, Debian and Ubuntu install it if this is root; elsewhere its
 * tests are to be skipped, except under `CI`, where that is an error.
 */
export async function ensureRedis(): Promise<boolean> {
  if ((await isThere()) || ((await canInstall()) && (await installRedis()))) return true
  const message = `${serverProgram} cannot be run`
  if (process.env.CI) throw new Error(`${message}, and CI skips nothing`)
  process.stderr.write(`${message}: the tests of headgate/redis on a real Redis are skipped\n`)
  return false
}

async function isThere(): Promise<boolean> {
  return execute(serverProgram, ['--version']).then(
    () => true,
    () => false
  )
}

async function canInstall(): Promise<boolean> {
  if (process.env.REDIS_SERVER !== undefined || process.getuid?.() !== 0) return false
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '')
  return /^ID(_LIKE)?=.*\b(debian|ubuntu)\b/m.test(release)
}

async function installRedis(): Promise<boolean> {
  process.stderr.write('redis-server is missing: apt-get installs it\n')
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const get = (...parameters: string[]) =>
    execute('apt-get', ['-qq', '-o', 'DPkg::Lock::Timeout=120', ...parameters], { env })
  const allowServices = await forbidServices()
  try {
    await get('update')
    await get('install', '-y', '--no-install-recommends', 'redis-server')
  } catch (error) {
    process.stderr.write(`${error}\n`)
  } finally {
    await allowServices()
  }
  return isThere()
}

/** Keeps packages from starting what they bring: the tests start their own servers. */
async function forbidServices(): Promise<() => Promise<void>> {
  try {
    await writeFile(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755, flag: 'wx' })
    return () => rm(policy)
  } catch {
    // Somebody has set a policy, which stays in force.
    return async () => {}
  }
}
