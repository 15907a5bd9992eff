export {
  addressMatcher,
  admits,
  Gate,
  gatePlan,
  HeadgateError,
  hold,
  isOpen,
  rateLimitOf,
  sendBody,
  sendDenial,
  setHead,
  TurnWatch,
  takeThrough
} from './index.cjs'
