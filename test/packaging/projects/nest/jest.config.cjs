const { type } = require('../package.json')

const isModule = type === 'module'
const common = {
  rootDir: __dirname,
  testEnvironment: 'node',
  extensionsToTreatAsEsm: isModule ? ['.ts'] : [],
  moduleNameMapper: { '^(\\./.*)\\.js$': '$1' }
}
const swc = {
  jsc: {
    target: 'es2022',
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true }
  },
  module: { type: isModule ? 'es6' : 'commonjs' }
}

module.exports = {
  projects: [
    { ...common, displayName: 'ts-jest', transform: { '\\.ts$': ['ts-jest', { useESM: isModule }] } },
    { ...common, displayName: 'swc-jest', transform: { '\\.ts$': ['@swc/jest', swc] } }
  ]
}
