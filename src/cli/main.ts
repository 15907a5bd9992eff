#!/usr/bin/env node
import { run } from './run.js'

// Who reads the lines may have gone, as in `headgate check … | head`: then nobody wants the rest.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })

process.exitCode = run(process.argv.slice(2), {
  say: (line) => void process.stdout.write(`${line}\n`),
  fail: (line) => void process.stderr.write(`${line}\n`)
})
