import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { argv } from 'node:process'
import { pathToFileURL } from 'node:url'
import { parse } from 'luaparse'

/*
 * Checks the .lua files of folders as luacheck does: they parse as Lua 5.1, which Redis runs; they name no global that
 * Redis lacks and set none, which Redis refuses; and no local within a function is without a use. A file that is a part
 * of a script says in luacheck's own words which locals of other parts it uses: `-- luacheck: read globals floor max`.
 */

const ofRedis = new Set(
  `KEYS ARGV redis cjson cmsgpack bit struct math string table assert error ipairs next pairs pcall select tonumber
  tostring type unpack xpcall`.split(/\s+/)
)

export function problemsOf(text) {
  const declared = [...text.matchAll(/^-- luacheck: read globals (.*)$/gm)].flatMap(([, names]) =>
    names.split(' ')
  )
  const known = new Set([...ofRedis, ...declared])
  const problems = []
  const report = (node, problem) => problems.push(`${node.loc.start.line}: ${problem}`)
  try {
    const chunk = parse(text, { luaVersion: '5.1', locations: true, scope: true })
    for (const node of nodesOf(chunk)) checkGlobals(node, known, report)
    for (const node of nodesOf(chunk)) if (node.type === 'FunctionDeclaration') checkLocals(node, report)
    for (const name of declared)
      if (!chunk.globals.some((global) => global.name === name))
        problems.push(`1: ${name} is declared and not used`)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    problems.push(`${error.line}: ${error.message.replace(/^\[[\d:]+\] /, '')}`)
  }
  return [...new Set(problems)]
}

function checkGlobals(node, known, report) {
  if (node.type === 'Identifier' && node.isLocal === false && !known.has(node.name))
    report(node, `${node.name} is no global of Redis`)
  const set =
    node.type === 'AssignmentStatement'
      ? node.variables
      : node.type === 'FunctionDeclaration'
        ? [node.identifier]
        : []
  for (const target of set)
    if (target?.type === 'Identifier' && target.isLocal === false)
      report(target, `${target.name} is set as a global`)
}

function checkLocals(node, report) {
  const own = [...nodesOf(node.body)]
  const uses = own.filter(({ type }) => type === 'Identifier')
  for (const statement of own.filter(({ type }) => type === 'LocalStatement'))
    for (const variable of statement.variables)
      if (variable.name !== '_' && !uses.some((use) => use !== variable && use.name === variable.name))
        report(variable, `${variable.name} is not used`)
}

function* nodesOf(value) {
  if (typeof value !== 'object' || value === null) return
  if (typeof value.type === 'string') yield value
  for (const [part, child] of Object.entries(value)) {
    // The names of fields are neither globals nor uses of locals.
    const isField =
      (value.type === 'MemberExpression' && part === 'identifier') ||
      (value.type === 'TableKeyString' && part === 'key')
    if (part !== 'loc' && part !== 'globals' && !isField) yield* nodesOf(child)
  }
}

if (import.meta.url === pathToFileURL(argv[1]).href) {
  let found = 0
  for (const folder of argv.slice(2))
    for (const name of readdirSync(folder, { recursive: true }))
      if (name.endsWith('.lua'))
        for (const problem of problemsOf(readFileSync(join(folder, name), 'utf8'))) {
          console.error(`${join(folder, name)}:${problem}`)
          found++
        }
  process.exitCode = found > 0 ? 1 : 0
}
