import { Module } from '@nestjs/common'
import { ConfigModule, ConfigService } from '@nestjs/config'
import { RateLimitModule } from 'headgate/nest'
import { AccountsController } from './accounts.controller.js'
import { ChatGateway } from './chat.gateway.js'
import { HealthController } from './health.controller.js'
import { limits } from './limits.js'
import { ReportsController } from './reports.controller.js'
import { Tokens } from './tokens.js'

@Module({
  imports: [
    ConfigModule.forRoot({ isGlobal: true }),
    RateLimitModule.forRootAsync({ inject: [ConfigService], useFactory: limits })
  ],
  controllers: [AccountsController, ReportsController, HealthController],
  providers: [ChatGateway, Tokens]
})
export class AppModule {}
