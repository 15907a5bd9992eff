import type { RateLimitException } from './exception.js'

/** The denial of a message, as the exception that the transport tells the client of. */
export async function messageException(type: string, denial: RateLimitException): Promise<Error> {
  const { message, rateLimit } = denial
  const error = { ...denial.extensions, status: 'error', message }
  try {
    // Each is there wherever its messages are, but in no other application.
    if (type === 'ws') {
      const { WsException } = await import('@nestjs/websockets')
      return Object.assign(new WsException(error), { rateLimit })
    }
    if (type === 'rpc') {
      const { RpcException } = await import('@nestjs/microservices')
      return Object.assign(new RpcException(error), { rateLimit })
    }
  } catch {
    // A loader that does not find the package: the message is refused all the same.
  }
  return denial
}
