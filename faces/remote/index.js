export { blockIn, HeadgateError, Out, outSize, remoteStore } from './index.cjs'
