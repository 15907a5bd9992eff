export {
  addressMatcher,
  admits,
  Gate,
  gatePlan,
  HeadgateError,
  hold,
  isOpen,
  sendBody,
  sendDenial,
  setHead,
  TurnWatch,
  takeThrough
} from './index.cjs'
