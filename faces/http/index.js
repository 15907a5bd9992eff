export {
  addressMatcher,
  admits,
  canonicalAddress,
  Gate,
  gatePlan,
  HeadgateError,
  hasBody,
  hold,
  hopByHop,
  isOpen,
  limiterBehind,
  rateLimitOf,
  sendBody,
  sendDenial,
  setHead,
  TurnWatch,
  takeThrough
} from './index.cjs'
