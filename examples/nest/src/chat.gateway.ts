import { MessageBody, SubscribeMessage, WebSocketGateway, type WsResponse } from '@nestjs/websockets'
import { Limit } from 'headgate/nest'

@WebSocketGateway({ path: '/chat' })
export class ChatGateway {
  @SubscribeMessage('say')
  @Limit('ip', 2, '1m', 'token-bucket')
  say(@MessageBody() text: string): WsResponse<string> {
    return { event: 'said', data: text }
  }
}
