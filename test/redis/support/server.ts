import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { askText } from './ask.js'
import { type Guard, startGuard } from './guard.js'
import { serverProgram } from './install.js'
import { freePort } from './ports.js'
import { until } from './until.js'

/** A real server of its own, on the loopback and in a folder of its own. */
export interface Server {
  readonly port: number
  /** Of the process that runs, or ran last. */
  readonly pid: number
  /** Ends it in order (SIGTERM). */
  stop(): Promise<void>
  /** Ends it at once (SIGKILL). */
  kill9(): Promise<void>
  /** Freezes it (SIGSTOP): the kernel still accepts connections, nothing is answered. */
  pause(): void
  resume(): void
  /** Starts it on the same port and in the same folder, after ending it where it still runs. */
  restart(): Promise<void>
}

/** How a server is started. */
export interface ServerOptions {
  /** Each write is on the disk before it is answered. Without, a restart finds nothing. */
  readonly isPersistent?: boolean
  /** Such as `['--maxmemory', '2mb']`. */
  readonly settings?: readonly string[]
  /** The lines of a configuration file, which a sentinel needs. */
  readonly configuration?: readonly string[]
}

/** Starts a server. */
export async function startServer(options: ServerOptions = {}): Promise<Server> {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-redis-'))
  const guard = startGuard(folder)
  for (let tries = 1; ; tries++) {
    const server = new ServerProcess(await freePort(), folder, guard, options)
    try {
      await server.restart()
      return server
    } catch (error) {
      // Between the choice of a port and its use, another process can take it.
      if (tries === 3 || !/in use/i.test(String(error))) throw error
    }
  }
}

class ServerProcess implements Server {
  #child: ChildProcess | undefined

  constructor(
    readonly port: number,
    private readonly folder: string,
    private readonly guard: Guard,
    private readonly options: ServerOptions
  ) {}

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  async restart(): Promise<void> {
    await this.stop()
    const parameters = await this.#parameters()
    const output = openSync(join(this.folder, 'output'), 'w')
    const child = spawn(serverProgram, parameters, { cwd: this.folder, stdio: ['ignore', output, output] })
    closeSync(output)
    this.#child = child
    await once(child, 'spawn')
    child.unref()
    this.guard.watch(child.pid)
    child.once('exit', () => this.guard.watch(undefined))
    await until(`the server on ${this.port} answers`, async () => !isRunning(child) || this.#answers())
    if (!isRunning(child)) throw new Error(await readFile(join(this.folder, 'output'), 'utf8'))
  }

  stop(): Promise<void> {
    return this.#end('SIGTERM')
  }

  kill9(): Promise<void> {
    return this.#end('SIGKILL')
  }

  pause(): void {
    process.kill(this.pid, 'SIGSTOP')
  }

  resume(): void {
    process.kill(this.pid, 'SIGCONT')
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child
    if (!child || !isRunning(child)) return
    child.ref()
    const exit = once(child, 'exit')
    child.kill(signal)
    child.kill('SIGCONT')
    // A server that waits for its replicas takes longer than a test should.
    const impatience = setTimeout(() => child.kill('SIGKILL'), 2_000)
    await exit
    clearTimeout(impatience)
  }

  async #parameters(): Promise<readonly string[]> {
    const { isPersistent, settings = [], configuration } = this.options
    const place = ['--port', `${this.port}`, '--bind', '127.0.0.1', '--dir', this.folder]
    const file = join(this.folder, 'server.conf')
    if (configuration) {
      await writeFile(file, configuration.join('\n'), { flag: 'a' })
      return [file, ...place, ...settings]
    }
    const disk = isPersistent ? ['--appendonly', 'yes', '--appendfsync', 'always'] : ['--appendonly', 'no']
    return [...place, '--save', '', ...disk, ...settings]
  }

  /** Asks who it is, as another server could have taken the port first, and whether it has read what it kept. */
  async #answers(): Promise<boolean> {
    const info = await askText(this.port, 'INFO')
    return info.includes(`process_id:${this.pid}\r\n`) && !info.includes('\nloading:1')
  }
}

function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null
}
