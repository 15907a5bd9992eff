import { HeadgateError } from '../core/errors.js'
import type { Verdict } from '../core/verdict.js'
import type { Request, Runner } from './backend.js'
import { checkedAnswers, promised } from './contract.js'
import type { Location } from './executor.js'
import type { Node } from './nodes.js'
import type { Deadline } from './time/deadline.js'
import { setImmediate } from './time/own-time.js'

interface Batch {
  /** Where the shard is, as it was found last. */
  node: Node
  readonly requests: Request[]
  /** When the first of them is given up that has waited already, in loop time. */
  due: number
  readonly resolves: ((verdict: Verdict | undefined) => void)[]
  readonly rejects: ((error: unknown) => void)[]
}

/** What is asked of one runner. */
interface Line {
  readonly runner: Runner
  /** Calls on their way. */
  calls: number
  /** What waits, by shard; what has waited before is apart. */
  waiting: Map<number, Batch>
  isScheduled: boolean
}

/**
 * Sends what is asked for in one turn of the event loop in one call per runner and shard, in the order in which it was
 * asked for. If nothing of its runner is on its way that is what one piece of code asks for: it need not wait for others.
 */
export class Batches {
  readonly #deadline: Deadline
  readonly #lines = new Map<Runner, Line>()

  constructor(deadline: Deadline) {
    this.#deadline = deadline
  }

  /**
   * @param due when it is given up, in loop time, if it has waited already
   * @throws HeadgateError `HEADGATE_STORE_FAILED`
   */
  add(
    { node, shard }: Location,
    request: Request,
    due = Number.POSITIVE_INFINITY
  ): Promise<Verdict | undefined> {
    return this.#add({ node, shard }, request, due, 1)
  }

  /**
   * The same of several requests that are decided together, by rules of one runner: all in one call.
   * @throws HeadgateError `HEADGATE_STORE_FAILED`
   */
  addTogether(
    location: Pick<Location, 'node' | 'shard'>,
    requests: readonly Request[],
    due = Number.POSITIVE_INFINITY
  ): Promise<(Verdict | undefined)[]> {
    return Promise.all(requests.map((request, i) => this.#add(location, request, due, requests.length - i)))
  }

  /** @param room how many requests must fit into the call, from this one on */
  #add(
    { node, shard }: Pick<Location, 'node' | 'shard'>,
    request: Request,
    due: number,
    room: number
  ): Promise<Verdict | undefined> {
    return new Promise((resolve, reject) => {
      const line = this.#lineOf(request.rules.runner)
      // What has less time left takes none from the others.
      const place = due === Number.POSITIVE_INFINITY ? shard : -1 - shard
      let batch = line.waiting.get(place)
      if (batch !== undefined && batch.requests.length + room > line.runner.most) {
        line.waiting.delete(place)
        this.#send(line, batch)
        batch = undefined
      }
      if (batch === undefined) {
        batch = { node, due, requests: [], resolves: [], rejects: [] }
        line.waiting.set(place, batch)
      }
      batch.node = node
      if (due < batch.due) batch.due = due
      batch.requests.push(request)
      batch.resolves.push(resolve)
      batch.rejects.push(reject)
      if (batch.requests.length === line.runner.most) {
        line.waiting.delete(place)
        this.#send(line, batch)
      } else if (!line.isScheduled) {
        line.isScheduled = true
        const flush = () => this.#flush(line)
        if (line.calls === 0) queueMicrotask(flush)
        else setImmediate(flush)
      }
    })
  }

  #lineOf(runner: Runner): Line {
    let line = this.#lines.get(runner)
    if (line === undefined) {
      line = { runner, calls: 0, waiting: new Map(), isScheduled: false }
      this.#lines.set(runner, line)
    }
    return line
  }

  #flush(line: Line): void {
    const { waiting } = line
    line.isScheduled = false
    line.waiting = new Map()
    for (const batch of waiting.values()) this.#send(line, batch)
  }

  #send(line: Line, { node, due, requests, resolves, rejects }: Batch): void {
    line.calls++
    const judgedAt = this.#deadline.due()
    this.#deadline
      .call(
        node,
        (call) =>
          promised('run', line.runner.run(requests, call)).then((answers) =>
            checkedAnswers(answers, requests)
          ),
        { due: Math.min(due, judgedAt), judgedAt }
      )
      .then(
        (answers) => {
          line.calls--
          for (const [i, answer] of answers.entries())
            if (answer instanceof HeadgateError) rejects[i]!(answer)
            else resolves[i]!(answer)
        },
        (error) => {
          line.calls--
          for (const reject of rejects) reject(error)
        }
      )
  }
}
