import { spawn } from 'node:child_process'

/** Watches over what outlives this process if it is killed. */
export interface Guard {
  /** The process to be killed, if any. */
  watch(pid: number | undefined): void
}

/**
 * A shell that kills the watched process and removes the folder once this process is gone, in whichever way it goes:
 * an exit handler would not run on SIGKILL.
 */
export function startGuard(folder: string): Guard {
  const script = 'while read -r line; do pid=$line; done; [ -n "$pid" ] && kill -9 "$pid"; rm -rf "$0"'
  // In a session of its own, where no Ctrl-C reaches it.
  const shell = spawn('/bin/sh', ['-c', script, folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore']
  })
  shell.unref()
  // If the shell is gone, there is nobody to tell.
  shell.stdin.on('error', () => {})
  return { watch: (pid) => shell.stdin.write(`${pid ?? ''}\n`) }
}
