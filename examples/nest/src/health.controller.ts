import { Controller, Get } from '@nestjs/common'
import { Limit } from 'headgate/nest'

@Controller('health')
@Limit.skip()
export class HealthController {
  @Get()
  health(): string {
    return 'ok\n'
  }
}
