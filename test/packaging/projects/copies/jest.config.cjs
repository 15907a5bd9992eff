module.exports = { rootDir: __dirname, testEnvironment: 'node', transform: {}, maxWorkers: 1 }
