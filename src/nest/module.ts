import {
  type BeforeApplicationShutdown,
  type ConfigurableModuleAsyncOptions,
  ConfigurableModuleBuilder,
  type DynamicModule,
  Inject,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleInit,
  Scope
} from '@nestjs/common'
import { ApplicationConfig, HttpAdapterHost, ModuleRef, ModulesContainer, Reflector } from '@nestjs/core'
import { HeadgateError } from '../core/errors.js'
import { moduleToken } from '../decorators/nest.js'
import { warnOfTrustSetting } from '../hosts/fastify/trust-warning.js'
import { limitApplication } from './application.js'
import { RateLimitGuard } from './guard.js'
import { HandlerLimits, limitsToken } from './handler-limits.js'
import { openHandlers } from './handlers.js'
import { instancesOfGuard } from './internals.js'
import { limitUnknownPaths } from './not-found.js'
import type { NestRequest, RateLimitModuleOptions } from './options.js'
import { warnOfUnguardedFields } from './reach.js'
import { RateLimitService } from './service.js'

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } =
  new ConfigurableModuleBuilder<RateLimitModuleOptions>({
    moduleName: 'RateLimit'
  })
    .setClassMethodName('forRoot')
    .setFactoryMethodName('createRateLimitOptions')
    .build()

/** The token of the options that the module was given: for `overrideProvider` of a testing module. */
export const RATE_LIMIT_OPTIONS: string | symbol = MODULE_OPTIONS_TOKEN

/** What makes the options later: `useFactory` with `inject` and `imports`, `useClass` or `useExisting`. */
export type RateLimitModuleAsyncOptions<Req = NestRequest, Res = unknown> = ConfigurableModuleAsyncOptions<
  RateLimitModuleOptions<Req, Res>,
  'createRateLimitOptions'
>

/** Limits an application. Import it once, in the root module. */
export class RateLimitModule
  extends ConfigurableModuleClass
  implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown
{
  #limits: HandlerLimits | undefined
  #checkUnknownPaths: (() => void) | undefined
  readonly #ref: ModuleRef
  readonly #platform: HttpAdapterHost
  readonly #modules: ModulesContainer
  readonly #reflector: Reflector

  /** @internal */
  constructor(ref: ModuleRef, platform: HttpAdapterHost, modules: ModulesContainer, reflector: Reflector) {
    super()
    this.#ref = ref
    this.#platform = platform
    this.#modules = modules
    this.#reflector = reflector
  }

  /**
   * @example
   * RateLimitModule.forRoot({ limit: 100, window: '1m', policies: { login: { limit: 5, window: '15m' } } })
   */
  static override forRoot<Req = NestRequest, Res = unknown>(
    options: RateLimitModuleOptions<Req, Res>
  ): DynamicModule {
    // biome-ignore lint/complexity/noThisInStatic: the module is to be this class
    return { ...super.forRoot(options as never), global: true }
  }

  /**
   * @example
   * RateLimitModule.forRootAsync({
   *   inject: [ConfigService],
   *   useFactory: (config: ConfigService) => ({ limit: config.get('LIMIT'), window: '1m' })
   * })
   */
  static override forRootAsync<Req = NestRequest, Res = unknown>(
    options: RateLimitModuleAsyncOptions<Req, Res>
  ): DynamicModule {
    // biome-ignore lint/complexity/noThisInStatic: the module is to be this class
    return { ...super.forRootAsync(options as never), global: true }
  }

  onModuleInit(): void {
    if (this.#ref.introspect(HandlerLimits).scope !== Scope.DEFAULT)
      throw new HeadgateError(
        'HEADGATE_MISUSE',
        'The options of RateLimitModule are injected something of request scope, so there is no limit until a request comes: ' +
          'inject what is made once, and give a function of the request as `limit` or `key`.'
      )
    const limits = this.#ref.get(HandlerLimits)
    this.#limits = limits
    const { own, isGlobal } = limits
    const [modules, reflector] = [this.#modules, this.#reflector]
    limits.override =
      instancesOfGuard(modules, RateLimitGuard).find((one) => one.constructor !== RateLimitGuard) ?? null
    warnOfUnguardedFields(modules, reflector)
    // Whether fields have guards is known only now.
    openHandlers(limits, { modules, reflector })
    if (isGlobal && own !== null) this.#checkUnknownPaths = limitUnknownPaths(this.#platform, own, limits)
    const { httpAdapter } = this.#platform
    if (httpAdapter?.getType() === 'fastify') warnOfTrustSetting(httpAdapter.getInstance())
  }

  onApplicationBootstrap(): void {
    this.#checkUnknownPaths?.()
  }

  /** Answers those that wait for a permit, before the server waits for its requests. */
  beforeApplicationShutdown(): void {
    for (const { limiter } of this.#limits?.gates ?? []) limiter.close()
  }

  /** Closes the stores that can be closed, once all requests are answered. */
  async onApplicationShutdown(): Promise<void> {
    await this.#limits?.close()
  }
}

Module({
  providers: [
    {
      provide: HandlerLimits,
      inject: [MODULE_OPTIONS_TOKEN, ApplicationConfig, HttpAdapterHost, ModulesContainer, Reflector],
      useFactory: (
        options: RateLimitModuleOptions,
        config: ApplicationConfig,
        platform: HttpAdapterHost,
        modules: ModulesContainer,
        reflector: Reflector
      ) => limitApplication(options, { config, platform, modules, reflector })
    },
    { provide: limitsToken, useExisting: HandlerLimits },
    RateLimitGuard,
    RateLimitService,
    { provide: moduleToken, useValue: true }
  ],
  exports: [HandlerLimits, limitsToken, RateLimitGuard, RateLimitService, moduleToken]
})(RateLimitModule)
Inject(ModuleRef)(RateLimitModule, undefined, 0)
Inject(HttpAdapterHost)(RateLimitModule, undefined, 1)
Inject(ModulesContainer)(RateLimitModule, undefined, 2)
Inject(Reflector)(RateLimitModule, undefined, 3)
