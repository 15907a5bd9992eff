'use strict'

/** The packages of NestJS that the code runs on, for the files of `peers/`, which it has in their place. */
exports.peers = undefined

exports.give = (peers) => {
  exports.peers ??= peers
}
