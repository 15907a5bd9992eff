import { nearest } from '../core/options.js'
import { rulesSchema } from '../rules/rule-options.js'
import { check } from './check.js'

const { parseArgs } = process.getBuiltinModule('node:util')

/** Where lines go. */
export interface Output {
  say(line: string): void
  fail(line: string): void
}

const help = `headgate check FILE…
headgate schema

check   says whether files of rules are right, YAML or JSON, and what each rule does;
        exits with 0 if all are right, with 1 if one is not
schema  prints the JSON Schema of such files

  -q, --quiet     do not explain the rules
  -s, --strict    exit with 1 for warnings, too
  -h, --help      this text
  -v, --version   the version of headgate`

const flags = {
  quiet: { type: 'boolean', short: 'q' },
  strict: { type: 'boolean', short: 's' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' }
} as const

const commands = ['check', 'schema']

/** Runs the command `headgate` and returns its exit code: 2 where it was called in a wrong way. */
export function run(args: readonly string[], out: Output): number {
  let called: ReturnType<typeof read>
  try {
    called = read(args)
  } catch (error) {
    return misuse((error as Error).message, out)
  }
  const { values, positionals } = called
  if (values.help === true || args.length === 0) {
    out.say(help)
    return args.length === 0 ? 2 : 0
  }
  if (values.version === true) {
    out.say(version())
    return 0
  }
  const [command = '', ...files] = positionals
  if (command === 'schema') {
    if (files.length > 0) return misuse(`schema takes nothing, and ${files.join(' ')} is given`, out)
    out.say(JSON.stringify(rulesSchema(), null, 2))
    return 0
  }
  if (command !== 'check') return misuse(`'${command}' is no command${hint(command, commands)}`, out)
  if (files.length === 0) return misuse('name the files to check', out)
  const right = files.map((file) =>
    check(file, { quiet: values.quiet === true, strict: values.strict === true }, out)
  )
  return right.every(Boolean) ? 0 : 1
}

function read(args: readonly string[]) {
  const parsed = parseArgs({
    args: [...args],
    options: flags,
    allowPositionals: true,
    strict: false,
    tokens: true
  })
  for (const token of parsed.tokens)
    if (token.kind === 'option' && !Object.hasOwn(flags, token.name))
      throw new Error(`${token.rawName} is no flag${hint(token.name, Object.keys(flags), '--')}`)
    else if (token.kind === 'option' && token.value !== undefined)
      throw new Error(`${token.rawName} takes no value`)
  return parsed
}

function hint(name: string, known: readonly string[], before = ''): string {
  const near = nearest(name, known)
  return near === undefined ? '' : `: did you mean ${before}${near}?`
}

function misuse(message: string, out: Output): number {
  out.fail(`headgate: ${message}${message.endsWith('?') ? '' : '.'} See headgate --help.`)
  return 2
}

function version(): string {
  const { readFileSync } = process.getBuiltinModule('node:fs')
  const { join } = process.getBuiltinModule('node:path')
  // Two folders below the package, in `dist` as in `src`.
  return JSON.parse(readFileSync(join(__dirname, '../../package.json'), 'utf8')).version
}
