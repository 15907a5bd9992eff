'use strict'

const { load } = require('./load.cjs')

// Bundlers warn only of a missing package whose failure is caught where it is loaded.
module.exports = load({
  common: require('@nestjs/common'),
  core: require('@nestjs/core'),
  async websockets() {
    try {
      return require('@nestjs/websockets')
    } catch {
      return {}
    }
  },
  async microservices() {
    try {
      return require('@nestjs/microservices')
    } catch {
      return {}
    }
  }
})
