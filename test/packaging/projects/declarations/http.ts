import {
  addressMatcher,
  admits,
  Gate,
  gatePlan,
  type Host,
  limiterBehind,
  TurnWatch,
  takeThrough
} from 'headgate/http'

interface Request {
  readonly headers: Record<string, string>
}
declare const host: Host<Request, object>
export const plan = gatePlan<Request, object>({ limit: 5, window: '1m' }, 'mine')
export const gate = new Gate(plan)
export const limiter = limiterBehind(
  () => gate,
  () => host
)
export const outcome = (request: Request) => gate.enter(host, request, {})
export const watch = new TurnWatch()
export const matches = addressMatcher('deny', [])
export const all = { admits, takeThrough, host }
export const { rules, headers } = plan
