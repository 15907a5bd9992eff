import { readFileSync, writeFileSync } from 'node:fs'

const begin = '<!-- bench: begin -->\n'
const end = '<!-- bench: end -->'

/** Writes tables between the marks of a page, in place of those that are there. */
export function writeReport(file, machine, tables) {
  const page = readFileSync(file, 'utf8')
  const [from, to] = [page.indexOf(begin), page.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`${file} lacks the marks ${begin.trim()} and ${end}`)
  const report = [machine, ...tables.map(section)].join('\n\n')
  writeFileSync(file, `${page.slice(0, from) + begin}\n${report}\n\n${page.slice(to)}`)
}

/** The first column is text, the others are numbers. */
function section({ title, columns, rows }) {
  const row = (cells) => `| ${cells.map((cell) => String(cell).replaceAll('|', '\\|')).join(' | ')} |`
  const rule = columns.map((_, i) => (i === 0 ? '---' : '---:'))
  return [
    `### ${title[0].toUpperCase()}${title.slice(1)}`,
    '',
    row(columns),
    row(rule),
    ...rows.map(row)
  ].join('\n')
}
