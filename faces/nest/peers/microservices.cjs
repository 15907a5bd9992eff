'use strict'

const { peers } = require('../peers.cjs')

// biome-ignore lint/suspicious/noThenProperty: what imports this shall wait for the package
exports.then = (use, fail) => peers.microservices().then(use, fail)
