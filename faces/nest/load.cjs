'use strict'

const { give } = require('./peers.cjs')

/**
 * The one module behind both formats, on the peers that the first to ask has loaded in its own way: they may be ES
 * modules, which not all that runs CommonJS can `require`; Jest cannot.
 */
exports.load = (peers) => {
  give(peers)
  return require('./main.cjs')
}
