import { Limit, limitsOf } from 'headgate'

@Limit({ limit: 100, window: '1m' })
class Reports {
  @Limit('ip', 3, '1m')
  create(): void {}

  list(): void {}

  @Limit.skip()
  health(): void {}
}

test('limits of a plain class are read', () => {
  expect(limitsOf(Reports)).toEqual({
    create: { key: 'ip', limit: 3, window: '1m', strategy: 'fixed-window' },
    list: { limit: 100, window: '1m' },
    health: false
  })
})
