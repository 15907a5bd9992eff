export { warnOfLateLimiter } from '../limiter/making.js'

import { lookAtMaking, type Making, noteMaking, warnOfLateLimiter } from '../limiter/making.js'

/** What is remembered of an application. */
interface Served {
  /** How many watches there were when a limiter first met a request of it. */
  readonly since: number
  /** How many limiters of one place of the program it has had. */
  readonly sites: Map<string, number>
}

const applications = new WeakMap<object, Served>()

let watches = 0

/**
 * Notices a limiter that is made anew for each request: it is made after its application has begun to serve, where an
 * earlier one of it was made, and that has not met a second request. One that is made with its application is none, also
 * where that is built by its first request.
 */
export class TurnWatch {
  readonly #number = ++watches
  #making: Making | null = lookAtMaking()
  #first: WeakRef<object> | undefined

  /**
   * A request that the limiter handles. `applicationOf` tells what serves it: any object that lives as long as that. Where
   * nothing does, there is only what the stack has shown.
   */
  see<Req extends object>(request?: Req, applicationOf?: (request: Req) => object | null | undefined): void {
    if (this.#making === null || (request !== undefined && this.#first?.deref() === request)) return
    const application = request === undefined ? undefined : applicationOf?.(request)
    if (application === undefined || application === null) this.#settle()
    else if (this.#first === undefined) this.#meet(request!, application)
    else this.#keep(application)
  }

  #settle(): void {
    noteMaking(this.#making)
    this.#making = null
  }

  #meet(request: object, application: object): void {
    this.#first = new WeakRef(request)
    const { site } = this.#making!
    const served = applications.get(application) ?? { since: watches, sites: new Map<string, number>() }
    applications.set(application, served)
    const count = (served.sites.get(site) ?? 0) + 1
    served.sites.set(site, count)
    if (count > 1 && this.#number > served.since) warnOfLateLimiter()
  }

  /** One that meets a second request is kept, and so are all that are made where it was. */
  #keep(application: object): void {
    applications.get(application)?.sites.set(this.#making!.site, Number.NEGATIVE_INFINITY)
    this.#making = null
  }
}
