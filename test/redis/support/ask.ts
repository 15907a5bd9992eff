import { connect } from 'node:net'

/** What a server answers in RESP2. */
export type Reply = string | number | null | readonly Reply[]

/**
 * Sends one command on a connection of its own, and gives the reply: what the servers are asked here does not depend
 * on a client under test. An error reply rejects, and so does no reply in 2 s. A character stands for
 * a byte (`latin1`).
 */
export async function ask(port: number, ...command: readonly (string | number)[]): Promise<Reply> {
  const socket = connect({ port, host: '127.0.0.1' })
  // A paused server accepts the connection and never answers.
  socket.setTimeout(2_000, () => socket.destroy(new Error(`no reply from ${port} to ${command[0]}`)))
  socket.write(encode(command), 'latin1')
  let received = ''
  try {
    for await (const chunk of socket) {
      received += (chunk as Buffer).toString('latin1')
      const parsed = parse(received, 0)
      if (parsed) return unwrap(parsed.reply)
    }
  } finally {
    socket.destroy()
  }
  throw new Error(`${port} closed the connection`)
}

/** Like `ask`, for a command that is answered with text. */
export async function askText(port: number, ...command: readonly (string | number)[]): Promise<string> {
  return String(await ask(port, ...command))
}

function encode(command: readonly (string | number)[]): string {
  const parts = command.map((part) => `$${String(part).length}\r\n${part}\r\n`)
  return `*${parts.length}\r\n${parts.join('')}`
}

interface Parsed {
  readonly reply: Reply | Error
  readonly end: number
}

function parse(text: string, start: number): Parsed | undefined {
  const lineEnd = text.indexOf('\r\n', start)
  if (lineEnd === -1) return undefined
  const line = text.slice(start + 1, lineEnd)
  const end = lineEnd + 2
  if (text[start] === '+') return { reply: line, end }
  if (text[start] === '-') return { reply: new Error(line), end }
  if (text[start] === ':') return { reply: Number(line), end }
  if (line === '-1') return { reply: null, end }
  return text[start] === '$' ? parseBulk(text, end, Number(line)) : parseArray(text, end, Number(line))
}

function parseBulk(text: string, start: number, length: number): Parsed | undefined {
  const end = start + length + 2
  return end > text.length ? undefined : { reply: text.slice(start, start + length), end }
}

function parseArray(text: string, start: number, length: number): Parsed | undefined {
  const items: Reply[] = []
  let end = start
  while (items.length < length) {
    const item = parse(text, end)
    if (!item) return undefined
    items.push(unwrap(item.reply))
    end = item.end
  }
  return { reply: items, end }
}

function unwrap(reply: Reply | Error): Reply {
  if (reply instanceof Error) throw reply
  return reply
}
