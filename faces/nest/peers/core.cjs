module.exports = require('../peers.cjs').peers.core
