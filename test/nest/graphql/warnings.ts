import { setImmediate } from 'node:timers/promises'
import { forgetWarnings } from '../../http/behaviour/harness.js'

/** Listens for warnings of a code until `end`, which has their texts. */
export function warningsOf(code: string): { end(): Promise<string[]> } {
  const texts: string[] = []
  const listen = (warning: Error & { code?: string }) => {
    if (warning.code === code) texts.push(warning.message)
  }
  process.on('warning', listen)
  forgetWarnings()
  return {
    async end() {
      await setImmediate()
      process.off('warning', listen)
      return texts
    }
  }
}
