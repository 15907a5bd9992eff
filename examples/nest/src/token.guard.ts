import { type CanActivate, type ExecutionContext, Injectable, UnauthorizedException } from '@nestjs/common'
import type { Request } from 'express'
import { Tokens, type User } from './tokens.js'

export type SignedIn = Request & { user: User }

/** Lets in who has a token, as `request.user`. */
@Injectable()
export class TokenGuard implements CanActivate {
  constructor(private readonly tokens: Tokens) {}

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<SignedIn>()
    const user = this.tokens.verify(request.get('authorization')?.replace('Bearer ', '') ?? '')
    if (user === null) throw new UnauthorizedException()
    request.user = user
    return true
  }
}
