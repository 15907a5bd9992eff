export { HeadgateError, Out, outSize, remoteStore } from './index.cjs'
