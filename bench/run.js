import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { fixed, isQuick, print } from './harness.js'

/* Runs every benchmark and ends with one table: what was found, and what must hold. */

const here = fileURLToPath(new URL('.', import.meta.url))
if (!existsSync(`${here}node_modules`))
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], {
    cwd: here,
    stdio: 'inherit',
    shell: process.platform === 'win32'
  })

console.log(
  `Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model}${isQuick ? ', QUICK: not to quote' : ''}`
)

const files = [
  'decision',
  'memory',
  'flood',
  'allocation',
  'ipv6',
  'http',
  'nest',
  'import',
  'designs',
  'redis'
]
const found = []
for (const file of files) {
  const { run } = await import(`./${file}.js`)
  found.push(...(await run()))
}

print({
  title: 'what must hold',
  columns: ['', 'found', 'at most', ''],
  rows: found.map(({ what, found, target }) => [
    what,
    fixed(found, 2),
    fixed(target, 2),
    found <= target ? 'holds' : 'FAILS'
  ])
})
