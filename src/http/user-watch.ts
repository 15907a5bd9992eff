import { warn } from '../core/warn.js'
import { onEnded } from './endings.js'
import type { Host } from './host.js'

/** Notices that a limiter by user decides before it is known who the user is, and says so once. */
export class UserWatch {
  #hasSaid = false

  /** A request that has been decided by its user, or by its address because it had none. */
  see<Req, Res>(host: Host<Req, Res>, request: Req, response: Res): void {
    if (this.#hasSaid || hasUser(request)) return
    onEnded(host, response, () => {
      if (this.#hasSaid || !hasUser(request)) return
      this.#hasSaid = true
      warn(
        'HEADGATE_LATE_USER',
        "A limit by 'user' was decided before `request.user` was set, so the request was counted by its address. If " +
          'authentication runs behind the limiter, put it before; a request that logs in is no fault.'
      )
    })
  }
}

function hasUser(request: unknown): boolean {
  const { user } = request as { user?: unknown }
  return user !== undefined && user !== null
}
