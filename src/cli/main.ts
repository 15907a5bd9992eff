#!/usr/bin/env node
import { run } from './run.js'

process.exitCode = run(process.argv.slice(2), {
  say: (line) => void process.stdout.write(`${line}\n`),
  fail: (line) => void process.stderr.write(`${line}\n`)
})
