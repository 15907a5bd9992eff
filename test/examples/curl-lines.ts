import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'

const hasCurl = spawnSync('curl', ['--version']).status === 0
const shell = promisify(execFile)

/** Starts an example of a folder that has the package built. */
export function start(folder: string, example: string, env: NodeJS.ProcessEnv = {}): ChildProcess {
  return spawn(process.execPath, [`examples/${example}.js`], {
    cwd: folder,
    env: { ...process.env, PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe']
  })
}

/** The lines to try, of curl or node, that a server prints once it listens. */
export async function printedLines(server: ChildProcess): Promise<string[]> {
  let printed = ''
  for await (const chunk of server.stdout!.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    printed += chunk
    if (printed.endsWith('\n\n') && printed.includes('curl '))
      return printed.match(/^(curl|node) .*$/gm) ?? []
  }
  throw new Error(`it ended without a curl line: ${printed}`)
}

/** A response's status and header fields. */
interface Answer {
  readonly status: number
  readonly headers: Headers
}

/**
 * What does not hold of what a line states after `#`: the statuses of its requests, then what the last response is
 * `with` (a field, or a field and its value) or `without`.
 */
export async function failings(line: string): Promise<string[]> {
  const [, stated] = /# (.+)$/.exec(line) ?? []
  const [, statuses, manner, field, , value] =
    /^([\d, ]+?)(?: (with|without) ([\w-]+)(: (.+))?)?$/.exec(stated ?? '') ?? []
  if (statuses === undefined) return ['it states nothing that can be checked']
  const answers = await (hasCurl ? curl(line) : imitated(line))
  const found = answers.map(({ status }) => status).join(', ')
  const last = field === undefined ? undefined : answers.at(-1)?.headers.get(field)
  const failed = found === statuses ? [] : [`the statuses are ${found}`]
  if (manner === 'without' && last !== null) failed.push(`${field} is ${last}`)
  if (manner === 'with' && (value === undefined ? last === null : last !== value))
    failed.push(`${field} is ${last}`)
  return failed
}

async function curl(line: string): Promise<Answer[]> {
  const { stdout } = await shell('sh', ['-c', line])
  return [...stdout.matchAll(/HTTP\/1\.1 (\d+).*\r\n((?:.+\r\n)+)/g)].map(([, status, fields]) => ({
    status: Number(status),
    headers: headersOf(fields!.trim().split('\r\n'))
  }))
}

function headersOf(fields: readonly string[]): Headers {
  return new Headers(fields.map((field) => field.split(/: (.*)/).slice(0, 2) as [string, string]))
}

/** What curl would do, on machines without it: `-X`, `-H`, `-d` and one range in the address. */
async function imitated(line: string): Promise<Answer[]> {
  const form = /-d '([^']+)'/.exec(line)?.[1]
  const body = form === undefined ? null : new URLSearchParams(form)
  const method = /-X (\w+)/.exec(line)?.[1] ?? (body === null ? 'GET' : 'POST')
  const headers = headersOf([...line.matchAll(/-H '([^']+)'/g)].map(([, field]) => field!))
  const url = /http[^' ]+/.exec(line)![0]
  const last = Number(/\[1-(\d+)\]/.exec(url)?.[1] ?? 1)
  const answers: Answer[] = []
  for (let i = 1; i <= last; i++)
    answers.push(await fetch(url.replace(/\[.*\]/, String(i)), { method, headers, body }))
  return answers
}
