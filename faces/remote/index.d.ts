export * from './index.cjs'
