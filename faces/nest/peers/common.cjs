module.exports = require('../peers.cjs').peers.common
