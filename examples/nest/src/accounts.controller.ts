import {
  Body,
  Controller,
  ForbiddenException,
  Get,
  HttpCode,
  Param,
  Post,
  Req,
  UnauthorizedException,
  UseGuards
} from '@nestjs/common'
import { Limit, type NestRequest, RateLimitService } from 'headgate/nest'
import { type SignedIn, TokenGuard } from './token.guard.js'
import { Tokens, type User } from './tokens.js'

// Stands in for your database.
const passwords = new Map([['ada', 'analytical engine']])

@Controller('accounts')
export class AccountsController {
  constructor(
    private readonly tokens: Tokens,
    private readonly rateLimits: RateLimitService
  ) {}

  @Post('login')
  @HttpCode(200)
  @Limit('login')
  login(@Body('account') account: string, @Body('password') password: string): { token: string } {
    if (password === undefined || passwords.get(account) !== password) throw new UnauthorizedException()
    return { token: this.tokens.sign({ id: account }) }
  }

  /** Lets an account try again at once, when its owner has called the support desk. */
  @Post(':account/unlock')
  @HttpCode(204)
  @UseGuards(TokenGuard)
  async unlock(@Req() { user }: SignedIn, @Param('account') account: string): Promise<void> {
    if (!user.isAdmin) throw new ForbiddenException()
    await this.rateLimits.reset('login', account)
  }

  @Get('me')
  @UseGuards(TokenGuard)
  me(@Req() { user }: SignedIn): User {
    return user
  }

  @Post('me/picture')
  @UseGuards(TokenGuard)
  @Limit('user', 1, '1h', 'gcra')
  changePicture(@Req() { rateLimit }: NestRequest): { left: number | undefined } {
    return { left: rateLimit?.remaining }
  }
}
