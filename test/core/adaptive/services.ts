import type { Phase } from './simulation.js'

/** A request that was admitted. */
export interface Job {
  readonly start: number
  readonly inFlight: number
  readonly work: number
  readonly phase: Phase
  readonly isStream: boolean
}

/** Jobs, the one with the least key first. */
export class Heap {
  readonly #keys: number[] = []
  readonly #jobs: Job[] = []

  get size(): number {
    return this.#keys.length
  }

  get first(): number {
    return this.#keys.length === 0 ? Number.POSITIVE_INFINITY : this.#keys[0]!
  }

  push(key: number, job: Job): void {
    const keys = this.#keys
    const jobs = this.#jobs
    let i = keys.length
    for (; i > 0; ) {
      const parent = (i - 1) >> 1
      if (keys[parent]! <= key) break
      keys[i] = keys[parent]!
      jobs[i] = jobs[parent]!
      i = parent
    }
    keys[i] = key
    jobs[i] = job
  }

  pop(): Job {
    const keys = this.#keys
    const jobs = this.#jobs
    const top = jobs[0]!
    const key = keys.pop()!
    const job = jobs.pop()!
    const n = keys.length
    if (n === 0) return top
    let i = 0
    for (;;) {
      let child = 2 * i + 1
      if (child >= n) break
      if (child + 1 < n && keys[child + 1]! < keys[child]!) child++
      if (keys[child]! >= key) break
      keys[i] = keys[child]!
      jobs[i] = jobs[child]!
      i = child
    }
    keys[i] = key
    jobs[i] = job
    return top
  }
}

/** The service itself: says when a job ends next. */
export interface Service {
  add(now: number, job: Job): void
  nextEnd(now: number): number
  /** Takes out the job that ends now. */
  end(now: number): Job
  change(now: number, servers: number): void
}

/** Servers with one job each, and one queue. */
export function queueService(servers: number): Service {
  const running = new Heap()
  const waiting: Job[] = []
  let head = 0
  let capacity = servers
  function fill(now: number): void {
    while (running.size < capacity && head < waiting.length) {
      const job = waiting[head++]!
      running.push(now + job.work, job)
    }
    if (head < 10_000) return
    waiting.splice(0, head)
    head = 0
  }
  return {
    add(now, job) {
      waiting.push(job)
      fill(now)
    },
    nextEnd: () => running.first,
    end(now) {
      const job = running.pop()
      fill(now)
      return job
    },
    change(now, next) {
      capacity = next
      fill(now)
    }
  }
}

/** Cores that all jobs share evenly: a job ends when each has had as much as it needs. */
export function sharedService(servers: number): Service {
  const running = new Heap()
  let cores = servers
  let done = 0
  let at = 0
  const rate = () => (running.size === 0 ? 1 : Math.min(1, cores / running.size))
  function advance(now: number): void {
    done += (now - at) * rate()
    at = now
  }
  return {
    add(now, job) {
      advance(now)
      running.push(done + job.work, job)
    },
    nextEnd: () => (running.size === 0 ? Number.POSITIVE_INFINITY : at + (running.first - done) / rate()),
    end(now) {
      advance(now)
      return running.pop()
    },
    change(now, next) {
      advance(now)
      cores = next
    }
  }
}
