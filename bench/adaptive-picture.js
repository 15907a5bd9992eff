import { readFileSync, writeFileSync } from 'node:fs'
import { build } from 'esbuild'

/*
 * Draws docs/images/adaptive.svg: the limits that find themselves, in the simulation of the tests, beside the fixed limits
 * that do best; and writes the table of docs/adaptive.md. The same numbers come out each time.
 * Run: node bench/adaptive-picture.js
 */

const root = new URL('..', import.meta.url)
const binMs = 250

const { aimd, bestOf, cases, fixedLimit, goodput, gradient, run, sharesOf, simulate, steps } =
  await simulation()
const { phases, untilMs } = steps.scenario

const gradientRun = run(steps, gradient, binMs).limits
const aimdRun = run(steps, aimd, binMs).limits
const spans = bestLimits()

const width = 760
const height = 300
const left = 44
const right = 12
const top = 16
const bottom = 56
const highest = 80
const plotWidth = width - left - right
const plotHeight = height - top - bottom

writeFileSync(new URL('docs/images/adaptive.svg', root), svg())
writeTable(new URL('docs/adaptive.md', root))

/** Goodput as a part of that of the best fixed limit; the least, where a scenario has several spans. */
function table() {
  const rows = Object.entries(cases).map(([name, given]) => {
    const best = bestOf(given)
    const least = (algorithm) => `${Math.floor(100 * Math.min(...sharesOf(given, algorithm, best)))} %`
    return `| ${name} | ${given.settleMs / 1000} s | ${least(gradient)} | ${least(aimd)} |`
  })
  return ['| scenario | settled after | `gradient` | `aimd` |', '| --- | --- | --- | --- |', ...rows].join(
    '\n'
  )
}

function writeTable(page) {
  const begin = '<!-- simulation: begin -->'
  const end = '<!-- simulation: end -->'
  const text = readFileSync(page, 'utf8')
  const [before] = text.split(begin)
  const [, after] = text.split(end)
  writeFileSync(page, `${before}${begin}\n${table()}\n${end}${after}`)
}

/** The sources are TypeScript: bundled in memory, nothing is written. */
async function simulation() {
  const contents = `
    export * from './test/core/adaptive/simulation.js'
    export * from './test/core/adaptive/scenarios.js'
    export * from './test/core/adaptive/compare.js'
    export { gradient } from './src/core/adaptive/gradient.js'
    export { aimd } from './src/core/adaptive/aimd.js'`
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: root.pathname, loader: 'ts' },
    bundle: true,
    format: 'esm',
    write: false
  })
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`)
}

/** In each phase, from the least to the largest fixed limit whose goodput is within 5 % of the best. */
function bestLimits() {
  const tried = Array.from({ length: 80 }, (_, i) => i + 1)
  const runs = tried.map((limit) => simulate(steps.scenario, fixedLimit(limit)))
  return phases.map(({ at, servers }, i) => {
    const until = phases[i + 1]?.at ?? untilMs
    const goods = runs.map((run) => goodput(run, at + steps.settleMs, until))
    const enough = 0.95 * Math.max(...goods)
    const good = tried.filter((_, j) => goods[j] >= enough)
    return { from: at, to: until, servers, least: good[0], most: good.at(-1) }
  })
}

function x(ms) {
  return round(left + (ms / untilMs) * plotWidth)
}

function y(limit) {
  return round(top + plotHeight - (Math.min(limit, highest) / highest) * plotHeight)
}

function round(value) {
  return Math.round(value * 10) / 10
}

function line(limits, name) {
  const points = limits.map((limit, i) => `${x(i * binMs)},${y(limit)}`)
  return `<polyline class="${name}" points="${points.join(' ')}"/>`
}

function band({ from, to, least, most }) {
  return `<rect class="band" x="${x(from)}" y="${y(most)}" width="${round(x(to) - x(from))}" height="${round(y(least) - y(most))}"/>`
}

function axes() {
  const rows = [0, 20, 40, 60, 80].map(
    (limit) =>
      `<line class="grid" x1="${left}" x2="${width - right}" y1="${y(limit)}" y2="${y(limit)}"/>` +
      `<text x="${left - 8}" y="${y(limit) + 4}" text-anchor="end">${limit}</text>`
  )
  const columns = [0, 15, 30, 45, 60, 75, 90].map(
    (s) => `<text x="${x(s * 1000)}" y="${height - bottom + 18}" text-anchor="middle">${s} s</text>`
  )
  const servers = spans.map(
    ({ from, to, servers }) =>
      `<text x="${x((from + to) / 2)}" y="${top + 12}" text-anchor="middle">${servers} servers</text>`
  )
  return [...rows, ...columns, ...servers].join('\n')
}

function legend() {
  const at = height - 14
  return `<rect class="band" x="${left}" y="${at - 10}" width="18" height="12"/>
<text x="${left + 24}" y="${at}">fixed limits within 5 % of the best</text>
<line class="gradient" x1="310" x2="330" y1="${at - 4}" y2="${at - 4}"/>
<text x="336" y="${at}">gradient</text>
<line class="aimd" x1="420" x2="440" y1="${at - 4}" y2="${at - 4}"/>
<text x="446" y="${at}">aimd</text>`
}

function svg() {
  const title = 'Limits over time, while a service of 20 servers has only 5 for half a minute'
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}">
<title>${title}</title>
<style>
text { font: 12px system-ui, sans-serif; fill: #57606a }
.grid { stroke: #8c959f; stroke-opacity: .3 }
.band { fill: #2da44e; fill-opacity: .2 }
polyline, .gradient, .aimd { fill: none; stroke-width: 1.5 }
.gradient { stroke: #0969da; stroke-width: 2 }
.aimd { stroke: #bc4c00 }
@media (prefers-color-scheme: dark) {
text { fill: #9da7b3 }
.band { fill: #3fb950; fill-opacity: .25 }
.gradient { stroke: #58a6ff }
.aimd { stroke: #f0883e }
}
</style>
${spans.map(band).join('\n')}
${axes()}
${line(aimdRun, 'aimd')}
${line(gradientRun, 'gradient')}
${legend()}
</svg>
`
}
