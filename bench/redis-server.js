import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** A server of our own on the loopback that keeps nothing on the disk; null where there is no `redis-server`. */
export async function startRedis() {
  const port = await freePort()
  const options = ['--port', port, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', '/tmp']
  const server = spawn('redis-server', options.map(String), { stdio: 'ignore' })
  try {
    await once(server, 'spawn')
  } catch (error) {
    if (error.code === 'ENOENT') return null
    throw error
  }
  const ended = once(server, 'exit')
  const stop = async () => {
    server.kill()
    await ended
  }
  const stopAtOnce = () => server.kill('SIGKILL')
  process.once('exit', stopAtOnce)
  for (let tries = 0; !(await isOpen(port)); tries++) {
    if (tries === 100 || server.exitCode !== null) throw new Error(`redis-server does not answer on ${port}`)
    await sleep(50)
  }
  return { port, stop }
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}

function isOpen(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const answer = (isUp) => {
      socket.destroy()
      resolve(isUp)
    }
    socket.once('connect', () => answer(true))
    socket.once('error', () => answer(false))
  })
}
