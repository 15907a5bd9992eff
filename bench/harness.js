import { fork } from 'node:child_process'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** `BENCH_QUICK=1`: fewer rounds, smaller sizes; to see that everything runs, not to quote. */
export const isQuick = process.env.BENCH_QUICK === '1'

/** The build under test; `HEADGATE_DIST` names another one to measure beside it. */
const dist = process.env.HEADGATE_DIST
  ? pathToFileURL(`${process.env.HEADGATE_DIST}/`)
  : new URL('../dist/', import.meta.url)

/** Imports a file of the built package. */
export const headgate = (file = 'index.js') => import(new URL(file, dist).href)

export const isMain = (url) => process.argv[1] === fileURLToPath(url)

/** True in a process that `inChild` or `startChild` made. */
export const isChild = process.send !== undefined && process.env.BENCH_CHILD === '1'

export function startChild(url, args, execArgv = []) {
  return fork(fileURLToPath(url), args.map(String), { execArgv, env: { ...process.env, BENCH_CHILD: '1' } })
}

/** Runs a file of ours in a fresh process, so that no contestant runs on code warmed by another. */
export function inChild(url, args, execArgv) {
  const child = startChild(url, args, execArgv)
  return new Promise((resolve, reject) => {
    child.once('message', resolve)
    child.once('error', reject)
    child.once('exit', (code) =>
      reject(new Error(`${fileURLToPath(url)} ${args.join(' ')} ended with ${code}`))
    )
  })
}

/** In a child: hands the result back and ends, whatever timers the contestants left. */
export const answer = (result) => process.send(result, () => process.exit(0))

/** Rounds of all contestants in turn, so that a busy moment of the machine meets them all: name to results. */
export async function interleaved(names, rounds, measure) {
  const results = Object.fromEntries(names.map((name) => [name, []]))
  for (let round = 0; round < rounds; round++)
    for (const name of names) results[name].push(await measure(name))
  return results
}

export function median(values) {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

export const fixed = (value, digits = 0) => (value === undefined ? '' : value.toFixed(digits))

/** All tables that were printed, in order. */
export const printed = []

/** Prints rows of cells under a title; the first column is text, the others are numbers. */
export function print({ title, columns, rows }) {
  printed.push({ title, columns, rows })
  const lines = [columns, ...rows].map((row) => row.map(String))
  const widths = columns.map((_, i) => Math.max(...lines.map((line) => line[i].length)))
  const text = (line) =>
    line.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join('  ')
  const [head, ...body] = lines.map(text)
  console.log(`\n${title}\n\n${head}\n${'-'.repeat(head.length)}\n${body.join('\n')}`)
}

/**
 * CPU time an operation, collection of its garbage on other threads included. Unlike time on the wall it does not
 * grow when others use the machine.
 */
export async function cpuNs(run, count) {
  const before = process.cpuUsage()
  await run()
  const { user, system } = process.cpuUsage(before)
  return ((user + system) * 1000) / count
}

/** A generator of uniform whole numbers below `n`, the same in every run. */
export function random(n) {
  let state = 0x9e3779b9
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % n
  }
}
