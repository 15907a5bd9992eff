export * from './main.cjs'
