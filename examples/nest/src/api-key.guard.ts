import { type CanActivate, type ExecutionContext, Injectable, UnauthorizedException } from '@nestjs/common'
import { ConfigService } from '@nestjs/config'
import type { Request } from 'express'

@Injectable()
export class ApiKeyGuard implements CanActivate {
  readonly #keys: ReadonlySet<string>

  constructor(config: ConfigService) {
    this.#keys = new Set(config.get<string>('API_KEYS', 'blue,green').split(','))
  }

  canActivate(context: ExecutionContext): boolean {
    const key = context.switchToHttp().getRequest<Request>().get('x-api-key')
    if (key === undefined || !this.#keys.has(key)) throw new UnauthorizedException()
    return true
  }
}
