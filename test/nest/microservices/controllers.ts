import { Catch, Controller, Get, type Type, UseFilters, UseGuards } from '@nestjs/common'
import {
  BaseRpcExceptionFilter,
  EventPattern,
  MessagePattern,
  Payload,
  RpcException
} from '@nestjs/microservices'
import {
  Limit,
  limitGuard,
  type Message,
  RateLimitGuard,
  type RequestRateLimit
} from '../../../src/nest/index.js'

export const once = { limit: 1, window: '1m' } as const
/** What the filter was told of. */
export const told: (RequestRateLimit | undefined)[] = []
/** What key functions got. */
export const messages: Message[] = []
/** What events brought. */
export const events: unknown[] = []
/** The clock of all limits. */
export const clock = { ms: 0 }
export const now = (): number => clock.ms
const guard = limitGuard({ ...once, now })

@Catch(RpcException)
class Listener extends BaseRpcExceptionFilter {
  override catch(exception: RpcException & { rateLimit?: RequestRateLimit }, host: never) {
    told.push(exception.rateLimit)
    return super.catch(exception, host)
  }
}

@Controller()
export class Jobs {
  @MessagePattern('plain')
  plain(): string {
    return 'plain'
  }

  @MessagePattern('marked')
  @Limit({ limit: 3, window: '1m' })
  marked(): string {
    return 'marked'
  }

  @MessagePattern('told')
  @UseFilters(Listener)
  @Limit({ ...once, message: 'not so fast' })
  told(): string {
    return 'told'
  }

  @MessagePattern('counted')
  @Limit({ limit: 2, window: '1m', countOnly: 'failures' })
  counted(): string {
    return 'counted'
  }

  @MessagePattern('room')
  @Limit<Message>({
    ...once,
    key(message) {
      messages.push(message)
      return (message.data as { room: string }).room
    }
  })
  room(@Payload() { room }: { room: string }): string {
    return room
  }

  @MessagePattern('guarded')
  @UseGuards(guard)
  guarded(): string {
    return 'guarded'
  }

  @EventPattern('happened')
  @Limit({ limit: 2, window: '1m' })
  happened(@Payload() what: unknown): void {
    events.push(what)
  }
}

@Controller()
@Limit({ limit: 2, window: '1m' })
export class ByClass {
  @MessagePattern('one')
  one(): string {
    return 'one'
  }

  @MessagePattern('own')
  @Limit({ limit: 4 })
  own(): string {
    return 'own'
  }

  @MessagePattern('free')
  @Limit.skip()
  free(): string {
    return 'free'
  }

  @Get('page')
  page(): string {
    return 'page'
  }
}

@Controller()
@UseGuards(RateLimitGuard)
export class Guarded {
  @MessagePattern('twice')
  @UseGuards(RateLimitGuard)
  twice(): string {
    return 'twice'
  }
}

/** A class of the one name that all have which are made so. */
export function namesake(pattern: string): Type {
  @Controller()
  @Limit(once)
  class Same {
    same(): string {
      return pattern
    }
  }
  MessagePattern(pattern)(Same.prototype, 'same', Object.getOwnPropertyDescriptor(Same.prototype, 'same')!)
  return Same
}
