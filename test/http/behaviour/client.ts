import http, { type IncomingHttpHeaders } from 'node:http'
import net from 'node:net'

/** A request as a test writes it; a list of values is sent as that many lines. */
export interface Ask {
  readonly method?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly body?: string
}

/** A response, with the header lines exactly as they came. */
export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: readonly string[]
  readonly body: string
}

/** A request under way. */
export interface Opened {
  readonly answer: Promise<Answer>
  /** Closes the connection, as a client that goes away does. */
  abort(): void
}

/** Where a server listens. */
export type Address = { readonly port: number } | { readonly socketPath: string }

/** All lines of one field, in order. */
export function lines(answer: Answer, name: string): string[] {
  return answer.rawHeaders.filter(
    (_, i, all) => i % 2 === 1 && all[i - 1]!.toLowerCase() === name.toLowerCase()
  )
}

/** The one line of a field, undefined where there is none; more than one line is an error. */
export function header(answer: Answer, name: string): string | undefined {
  const found = lines(answer, name)
  if (found.length > 1) throw new Error(`${name} has ${found.length} lines: ${found.join(' | ')}`)
  return found[0]
}

/** The names of the fields of quotas and waits that an answer carries, as they are spelled on the wire. */
export function quotaFields(answer: Answer): string[] {
  return answer.rawHeaders
    .filter((name, i) => i % 2 === 0 && /^(x-)?rate-?limit|^retry-after$/i.test(name))
    .sort()
}

/** A client of one server, over node:http and kept-alive connections. */
export class Client {
  readonly #address: Address
  readonly #agent = new http.Agent({ keepAlive: true, maxSockets: 256 })

  constructor(address: Address) {
    this.#address = address
  }

  open({ method = 'GET', path = '/', headers = {}, body }: Ask = {}): Opened {
    const request = http.request({ ...this.#address, host: '127.0.0.1', agent: this.#agent, method, path })
    for (const [name, value] of Object.entries(headers))
      request.setHeader(name, typeof value === 'string' ? value : [...value])
    if (body !== undefined && !request.hasHeader('Transfer-Encoding'))
      request.setHeader('Content-Length', Buffer.byteLength(body))
    const answer = new Promise<Answer>((resolve, reject) => {
      request.on('error', reject)
      request.on('response', (response) => {
        const chunks: Buffer[] = []
        response.on('error', reject)
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () =>
          resolve({
            status: response.statusCode!,
            headers: response.headers,
            rawHeaders: response.rawHeaders,
            body: Buffer.concat(chunks).toString()
          })
        )
      })
    })
    request.end(body)
    return { answer, abort: () => request.destroy() }
  }

  /** Writes so many requests to one connection at once, and leaves them to the caller, who may destroy it. */
  pipeline(count: number, path = '/'): net.Socket {
    const socket = net.connect(
      'port' in this.#address
        ? { port: this.#address.port, host: '127.0.0.1' }
        : { path: this.#address.socketPath }
    )
    socket.on('error', () => {})
    socket.write(`GET ${path} HTTP/1.1\r\nHost: test\r\n\r\n`.repeat(count))
    return socket
  }

  /** The socket of a request that the server upgrades. */
  upgrade(path = '/'): Promise<net.Socket> {
    const headers = { Connection: 'Upgrade', Upgrade: 'x' }
    const request = http.request({ ...this.#address, host: '127.0.0.1', path, headers })
    return new Promise((resolve, reject) => {
      request.on('error', reject)
      request.on('upgrade', (_response, socket) => resolve(socket))
      request.end()
    })
  }

  send(ask: Ask = {}): Promise<Answer> {
    return this.open(ask).answer
  }

  get(path = '/', headers: Ask['headers'] = {}): Promise<Answer> {
    return this.send({ path, headers })
  }

  /** The statuses of requests made one after the other. */
  async statuses(asks: readonly Ask[]): Promise<number[]> {
    const found: number[] = []
    for (const ask of asks) found.push((await this.send(ask)).status)
    return found
  }

  /** Statuses of many GET requests written to one connection at once; each gets the header lines of its item. */
  pipelined(requests: readonly (readonly string[])[]): Promise<number[]> {
    return new Promise((resolve, reject) => {
      const socket = net.connect(
        'port' in this.#address
          ? { port: this.#address.port, host: '127.0.0.1' }
          : { path: this.#address.socketPath }
      )
      const statuses: number[] = []
      let text = ''
      socket.setEncoding('latin1')
      socket.on('error', reject)
      socket.on('data', (chunk: string) => {
        const parts = (text + chunk).split('\r\n')
        text = parts.pop()!
        for (const part of parts) {
          // A body without a final line break sits on the line of the next status.
          const status = /HTTP\/1\.1 (\d{3})/.exec(part)
          if (status) statuses.push(Number(status[1]))
        }
      })
      socket.on('close', () => {
        const status = /HTTP\/1\.1 (\d{3})/.exec(text)
        if (status) statuses.push(Number(status[1]))
        resolve(statuses)
      })
      const last = requests.length - 1
      const wire = requests.map((headerLines, i) =>
        [
          'GET / HTTP/1.1',
          'Host: test',
          ...(i === last ? ['Connection: close'] : []),
          ...headerLines,
          '',
          ''
        ].join('\r\n')
      )
      socket.write(Buffer.from(wire.join(''), 'latin1'))
    })
  }

  close(): void {
    this.#agent.destroy()
  }
}
