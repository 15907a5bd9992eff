import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { fixed, isQuick, print, printed } from './harness.js'
import { writeReport } from './report.js'

/*
 * Runs every benchmark and ends with one table: what was found, and what must hold. With `--write FILE` it also writes the
 * tables between the marks of that page, such as docs/benchmarks.md.
 */

const here = fileURLToPath(new URL('.', import.meta.url))
if (!existsSync(`${here}node_modules`))
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], {
    cwd: here,
    stdio: 'inherit',
    shell: process.platform === 'win32'
  })

const { values: flags } = parseArgs({ options: { write: { type: 'string' } } })
const machine = `Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model}`
console.log(machine + (isQuick ? ', QUICK: not to quote' : ''))

const files = [
  'decision',
  'in-flight',
  'memory',
  'flood',
  'overflow',
  'fingerprint',
  'allocation',
  'ipv6',
  'rules',
  'http',
  'nest',
  'overload',
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

if (flags.write !== undefined) {
  const date = new Date().toISOString().slice(0, 10)
  const quick =
    '**A quick run, with few rounds and small sizes. It shows that everything runs; do not quote it.**'
  // Nothing holds or fails in so few rounds.
  const tables = isQuick ? printed.slice(0, -1) : printed
  writeReport(flags.write, `${machine}, ${date}.${isQuick ? `\n\n${quick}` : ''}`, tables)
}
