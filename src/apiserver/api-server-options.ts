/** What an API server is put together from: everything that `compose.ts` is given. */
import type { Registry } from 'prom-client'
import type { ListenAddress } from '../network/listen.ts'
import type { Clock } from '../runtime/clock.ts'
import type { HealthChecks } from '../telemetry/health.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { AuditSink } from './audit/sink.ts'
import type { AuthorizationMode } from './auth/mode-names.ts'
import type { ReplaceableController } from './controllers/replaceable.ts'
import type { Pki } from './pki/pki.ts'
import type { Store } from './storage/store.ts'

export interface ApiServerOptions {
  readonly address: ListenAddress
  readonly pki: Pki
  readonly store: Store
  readonly clock: Clock
  readonly logger: Logger
  readonly health: HealthChecks
  readonly registry: Registry
  /** True when other API servers may use the same store. */
  readonly sharesStore: boolean
  /** Bearer tokens that an operator has written down; absent: none. */
  readonly tokens?: TokenFile | undefined
  /** Asked in this order; absent: those of a kube-apiserver with RBAC. */
  readonly authorizationModes?: readonly AuthorizationMode[] | undefined
  readonly disabledAdmissionPlugins?: readonly string[] | undefined
  /** Controllers to leave to a kube-controller-manager. */
  readonly skippedControllers?: readonly ReplaceableController[] | undefined
  /** Further CAs whose client certificates are believed. */
  readonly clientCas?: readonly CaBundle[] | undefined
  /** Where audit events go; absent: nowhere. */
  readonly auditLog?: AuditSink | undefined
  /** 0 for as many as there may be in all. */
  readonly maxConnectionsPerAddress?: number | undefined
}

/** The text of a token file, and its name for messages. */
export interface TokenFile {
  readonly csv: string
  readonly source: string
}

/** Certificates in PEM, and where they are from, for messages. */
export interface CaBundle {
  readonly pem: string
  readonly source: string
}
