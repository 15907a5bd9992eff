import { connect } from 'node:net'

const request = 'GET / HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n'

/** Kept-alive connections to a server, each from an address of its own (127.0.0.1, 127.0.0.2 …), that are sent `status`. */
export async function openClients(port, count, status) {
  const sockets = await Promise.all(Array.from({ length: count }, (_, i) => open(port, `127.0.0.${i + 1}`)))
  return {
    /** Sends `times` requests, one at a time on each connection. */
    async send(times) {
      await Promise.all(sockets.map((socket) => sendOn(socket, Math.ceil(times / count), status)))
    },
    close() {
      for (const socket of sockets) socket.destroy()
    }
  }
}

function open(port, localAddress) {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', localAddress, noDelay: true })
    socket.setEncoding('latin1')
    socket.once('error', reject)
    socket.once('connect', () => resolve(socket))
  })
}

function sendOn(socket, times, status) {
  let left = times
  let text = ''
  return new Promise((resolve, reject) => {
    const fail = () => reject(new Error('The server closed a connection.'))
    const read = (chunk) => {
      text += chunk
      if (!isWhole(text)) return
      if (!text.startsWith(`HTTP/1.1 ${status}`)) reject(new Error(text.slice(0, 200)))
      text = ''
      if (--left > 0) socket.write(request)
      else {
        socket.off('data', read)
        socket.off('close', fail)
        resolve()
      }
    }
    socket.on('data', read)
    socket.on('close', fail)
    if (socket.destroyed) fail()
    else socket.write(request)
  })
}

function isWhole(text) {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return false
  const length = /content-length: (\d+)/i.exec(text)
  return text.length >= end + 4 + Number(length[1])
}
