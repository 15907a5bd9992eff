import { execFile } from 'node:child_process'

/** What one run of a program came to. */
export interface Run {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program without a standard input, two at a time: more only wait for each other on a small machine. */
export async function run(program: string, parameters: readonly string[], cwd: string): Promise<Run> {
  const release = await turn()
  try {
    return await new Promise((done) => {
      const child = execFile(program, parameters, { cwd, timeout: 240_000 }, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1
        done({ code, stdout, stderr })
      })
      child.stdin?.end()
    })
  } finally {
    release()
  }
}

let free = 2
const waiting: (() => void)[] = []

async function turn(): Promise<() => void> {
  if (free === 0) await new Promise<void>((go) => waiting.push(go))
  else free--
  return () => {
    const next = waiting.shift()
    if (next) next()
    else free++
  }
}

/** Runs a program for its output. */
export async function outputOf(program: string, parameters: readonly string[], cwd: string): Promise<string> {
  const { code, stdout, stderr } = await run(program, parameters, cwd)
  if (code === 0) return stdout
  throw new Error(`${program} ${parameters.join(' ')} ended with ${code}:\n${stdout}${stderr}`)
}
