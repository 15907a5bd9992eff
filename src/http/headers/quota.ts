/** A policy as headers see it. core's Policy satisfies it structurally. */
export interface QuotaPolicy {
  /** Policy name, characters %x20-7E only (H4); core refuses others when it is configured. */
  readonly name: string
  /** Quota window in ms; null when there is none. */
  readonly quotaWindowMs: number | null
  /** Quota unit from the registry of draft-11 §3.1.2; absent means `requests`. */
  readonly unit?: string
}

/** One tier's answer as headers see it. Times in ms, quantities in quota units. */
export interface Quota {
  readonly policy: QuotaPolicy
  /** Capacity; Infinity leaves the tier out of the fields. May differ from call to call. */
  readonly limit: number
  readonly remaining: number
  /** Until the quota is full again; null when not known. */
  readonly resetMs: number | null
  /** Until the same request is admitted; Infinity for never, null when not known. Read when denied only. */
  readonly retryAfterMs: number | null
  /** False when this tier denied the request. */
  readonly allowed: boolean
  /** Base64 text (standard alphabet, padded) of the keyed-hashed partition key; draft-08 and later write it. */
  readonly partitionKey?: string
}
