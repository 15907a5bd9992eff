import * as common from '@nestjs/common'
import * as core from '@nestjs/core'
import { load } from './load.cjs'

export const {
  HeadgateError,
  ipKey,
  keyOf,
  Limit,
  limitGuard,
  RATE_LIMIT_OPTIONS,
  RateLimitException,
  RateLimitGuard,
  RateLimitModule,
  RateLimitService,
  rateLimitOf,
  Shed,
  ShedException,
  shed
} = load({
  common,
  core,
  websockets: () => import('@nestjs/websockets').catch(() => ({})),
  microservices: () => import('@nestjs/microservices').catch(() => ({}))
})
