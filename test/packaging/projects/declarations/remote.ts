import { Out, outSize, remoteStore } from 'headgate/remote'

export const store = remoteStore({
  name: 'mine',
  shardOf: () => 0,
  nodeOf: () => 'one',
  open: () => ({ swap: async (_key, expected) => ({ isDone: true, text: expected, now: 0 }) })
})
export const out = Out
export const size = outSize
