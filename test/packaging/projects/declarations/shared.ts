import { sharedStore } from 'headgate/shared'

export const store = sharedStore()
export const { handle } = store
export const other = sharedStore({ from: handle })
