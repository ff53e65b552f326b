/** How objects change: whoever writes, a client or a controller of ours, passes admission, strategies and allocation. */
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../telemetry/logger.ts'
import { lookupIn } from './admission/lookup.ts'
import { admissionPlugins } from './admission/plugins.ts'
import type { Auth } from './compose-auth.ts'
import type { KeptObjects } from './compose-store.ts'
import { Admission } from './core/admission.ts'
import { Maker } from './core/write/maker.ts'
import { Writer } from './core/write/writer.ts'
import type { HeavyWork } from './heavy/heavy-work.ts'
import { strategyFor } from './kinds/registry.ts'
import type { ServiceRange } from './services/ip-range.ts'
import { ServiceAllocator } from './services/service-allocator.ts'

export interface WriterOptions {
  readonly kept: KeptObjects
  readonly auth: Pick<Auth, 'authorizer' | 'escalation'>
  readonly clock: Clock
  readonly logger: Logger
  readonly heavy: HeavyWork
  readonly serviceRange: ServiceRange
  readonly sharesStore: boolean
  readonly disabledAdmissionPlugins: readonly string[]
}

export function composeWriter(options: WriterOptions): Writer {
  const { kept, auth, clock, logger, heavy, serviceRange, sharesStore } = options
  const { store, cache } = kept
  const admission = new Admission(
    admissionPlugins(
      {
        lookup: lookupIn(cache),
        clock,
        authorizer: auth.authorizer,
        escalation: auth.escalation,
        audit: (note) => logger.info(note, 'a pod is not what the audit label of its namespace asks for'),
      },
      options.disabledAdmissionPlugins,
    ),
  )
  return new Writer({
    store,
    cache,
    clock,
    admission,
    allocators: [new ServiceAllocator({ cache, clock, range: serviceRange, store: sharesStore ? store : undefined })],
    maker: new Maker({ heavy, strategyOf: strategyFor }),
    strategyOf: strategyFor,
  })
}
