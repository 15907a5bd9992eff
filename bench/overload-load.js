import { once } from 'node:events'
import { connect } from 'node:net'
import { random } from './harness.js'

/** How long a client waits for an answer, ms. */
const patienceMs = 1000

/** Connections that a proxy keeps open to the server. What finds none free fails. */
const connections = 600

/** p99 of the latency of a request now and then. */
export async function trickle(port, { everyMs, seconds }) {
  const pool = new Pool(port)
  const latencies = []
  for (let i = 0; i < (seconds * 1000) / everyMs; i++) {
    const begin = performance.now()
    await pool.send('/background')
    latencies.push(performance.now() - begin)
    await pause(everyMs)
  }
  pool.close()
  // The first ones meet code that nobody has run.
  return percentile(latencies.slice(latencies.length >> 2), 0.99)
}

/** Answers a second, to clients that send the next request once they have the answer. */
export async function peak(port, { clients, seconds }) {
  const pool = new Pool(port)
  let served = 0
  const end = performance.now() + seconds * 1000
  const begin = performance.now()
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (performance.now() < end) if ((await pool.send('/critical')) === 200) served++
    })
  )
  pool.close()
  return (served * 1000) / (performance.now() - begin)
}

/** Requests that come at random moments, so many a second. */
export async function overload(port, { perSecond, criticalPart, warmUp, seconds }) {
  const pool = new Pool(port)
  await pool.fill(connections)
  const next = random(1_000_000)
  const uniform = () => (next() + 0.5) / 1_000_000
  const kinds = { '/critical': { sent: 0, served: 0 }, '/background': { sent: 0, served: 0 } }
  const latencies = []
  const begin = performance.now()
  const from = begin + warmUp * 1000
  const end = from + seconds * 1000
  const underWay = new Set()
  const send = (path, dueMs) => {
    const counts = dueMs >= from
    if (counts) kinds[path].sent++
    const one = pool.send(path).then((status) => {
      underWay.delete(one)
      if (status !== 200 || !counts) return
      kinds[path].served++
      latencies.push(performance.now() - dueMs)
    })
    underWay.add(one)
  }
  for (let due = begin; due < end; due += (-1000 / perSecond) * Math.log(uniform())) {
    const wait = due - performance.now()
    if (wait > 1) await pause(wait)
    send(uniform() < criticalPart ? '/critical' : '/background', due)
  }
  await Promise.all(underWay)
  await pool.drained()
  pool.close()
  const { '/critical': critical, '/background': background } = kinds
  return {
    goodput: (critical.served + background.served) / seconds,
    p99: percentile(latencies, 0.99),
    critical: critical.served / critical.sent,
    background: background.served / background.sent
  }
}

/** Kept-alive connections, as of a proxy: one request at a time on each, and free again when that was answered. */
class Pool {
  #port
  #most = 16
  #free = []
  #all = new Set()

  constructor(port) {
    this.#port = port
  }

  /** Opens so many, and never more. */
  async fill(count) {
    this.#most = count
    // One after the other: Node accepts one connection a turn of its loop.
    for (let i = 0; i < count; i++) {
      const socket = this.#open()
      await once(socket, 'connect')
      this.#free.push(socket)
    }
  }

  /** The status of the answer; 0 where none comes in time. */
  send(path) {
    if (this.#free.length === 0 && this.#all.size >= this.#most) return Promise.resolve(0)
    const socket = this.#free.shift() ?? this.#open()
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, patienceMs, 0)
      let text = ''
      const read = (chunk) => {
        text += chunk
        const end = text.indexOf('\r\n\r\n')
        const length = end < 0 ? null : /content-length: (\d+)/i.exec(text)
        if (length === null || text.length < end + 4 + Number(length[1])) return
        socket.off('data', read)
        this.#free.push(socket)
        clearTimeout(timer)
        resolve(Number(text.slice(9, 12)))
      }
      socket.on('data', read)
      socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
    })
  }

  /** Waits until all that was sent is answered, for clients that have given up too. */
  async drained() {
    while (this.#free.length < this.#all.size) await pause(10)
  }

  close() {
    for (const socket of this.#all) socket.destroy()
  }

  #open() {
    const socket = connect({ port: this.#port, host: '127.0.0.1', noDelay: true })
    socket.setEncoding('latin1')
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#all.delete(socket)
      this.#free = this.#free.filter((one) => one !== socket)
    })
    this.#all.add(socket)
    return socket
  }
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

function percentile(values, part) {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
}
