'use strict'

module.exports = require('../peers.cjs').peers.common
