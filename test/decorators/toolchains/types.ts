import type { Request, Response } from 'express'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Limit, type LimitDecorator, type LimitOptions, limitsOf, type MethodLimit } from 'headgate'

const shared: LimitOptions<Request, Response> = { limit: 100, window: '1m' }

@Limit(shared)
@Limit('login')
export class Types {
  title = ''

  @Limit({ limit: 5, window: '1m', key: (request: Request) => request.get('x-api-key') ?? 'none' })
  @Limit({ limit: 5, window: '1m', onLimited: (_request: Request, response: Response) => response.end() })
  express() {}

  @Limit({ limit: 5, window: '1m', key: (request: FastifyRequest) => request.ip })
  @Limit({
    limit: 5,
    window: 1000,
    onLimited: (_: FastifyRequest, reply: FastifyReply) => reply.send('later')
  })
  fastify() {}

  @Limit({ limit: 5, window: '1m', key: (request) => String(request.headers['x-api-key']) })
  either() {}

  @Limit((request: Request) => request.path, 5, '1m', 'gcra')
  @Limit(['ip', 'header:x-api-key'], 5, '1m')
  shorthand() {}

  @Limit({
    limits: [
      { limit: 5, window: '1s' },
      { limit: async (request: Request) => request.path.length, window: '1h' }
    ]
  })
  tiers() {}

  @Limit({ key: 'user' })
  @Limit.skip(false)
  inherited() {}

  @Limit('ip', 1, '1s')
  protected async *private() {}

  // @ts-expect-error A misspelt option.
  @Limit({ limt: 5, window: '1m' })
  misspelt() {}

  // @ts-expect-error A number in a text.
  @Limit({ limit: '5', window: '1m' })
  text() {}

  // @ts-expect-error No key.
  @Limit('address', 5, '1m')
  unknownKey() {}

  // @ts-expect-error Half of the shorthand.
  @Limit('ip', 5)
  half() {}

  // @ts-expect-error Not called.
  @Limit
  uncalled() {}
}

export const decorator: LimitDecorator = Limit({ limit: 5, window: '1m' })
export const byClass: MethodLimit | undefined = limitsOf(Types).express
export const byInstance: MethodLimit | undefined = limitsOf(new Types()).express

// @ts-expect-error No method of the class.
limitsOf(Types).nothing
// @ts-expect-error No method of the class.
limitsOf(new Types()).nothing
// @ts-expect-error Limits are only read.
limitsOf(Types).express = false
