import { Controller, Get, UseGuards } from '@nestjs/common'
import { Limit } from 'headgate/nest'
import { ApiKeyGuard } from './api-key.guard.js'
import { guesses } from './limits.js'

@Controller('reports')
@UseGuards(guesses, ApiKeyGuard)
@Limit('reports')
export class ReportsController {
  @Get()
  list(): string[] {
    return []
  }

  // Both or none are charged. Key and stage are those of the class.
  @Get('search')
  @Limit({ limit: 2, window: '1m', strategy: 'gcra' })
  @Limit({ limit: 50, window: '1d', strategy: 'sliding-log' })
  search(): string[] {
    return []
  }
}
