import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common'
import { RateLimitGuard } from './guard.js'
import type { HandlerLimits } from './handler-limits.js'

/** Decides what must be decided after all guards: limits by `request.user`. */
export class LateInterceptor implements NestInterceptor {
  readonly #limits: HandlerLimits

  constructor(limits: HandlerLimits) {
    this.#limits = limits
  }

  intercept(context: ExecutionContext, next: CallHandler): ReturnType<NestInterceptor['intercept']> {
    const limit = this.#limits.of(context.getClass(), context.getHandler() as never)
    if (limit === null || this.#isOff() || !this.#limits.isLate(limit, context)) return next.handle()
    const admitted = limit.gate.admit(context)
    return admitted === true ? next.handle() : admitted.then(() => next.handle())
  }

  /** True where what decides in the place of the guard knows nothing of limits. */
  #isOff(): boolean {
    const { override } = this.#limits
    return override !== null && !(override instanceof RateLimitGuard)
  }
}
