/**
 * What the API server does differently for one kind. Everything else that is generic (uid, generation, resourceVersion,
 * ownership, conflicts) happens elsewhere; a kind without rules of its own gets the generic strategy of `registry.ts`.
 *
 * Objects are plain values of the stored version and belong to the callee: strategies change them in place. They are
 * pure otherwise: no I/O, no clock, no randomness but what `WriteContext` offers.
 *
 * A create runs `applyDefaults`, `prepareForCreate`, `validate`; a generated name, the uid and the namespace are set
 * before. An update runs `applyDefaults`, `prepareForUpdate`, `validateUpdate`; the metadata that a client may leave out
 * (uid, creationTimestamp, resourceVersion, generation, deletion fields) is copied from the old object before.
 */
import type { KubeObject } from '../../kube/objects.ts'
import type { FieldError } from '../../kube/status/field-error.ts'
import type { UserInfo } from '../request/user.ts'

export interface WriteContext {
  readonly nowMs: number
  readonly user: UserInfo
  /** Empty for the object itself, else `status`, `scale`, `approval`... */
  readonly subresource: string
}

/** When `metadata.generation` grows. */
export interface GenerationRule {
  /** What a new object starts with; 0 stands for an absent field. */
  readonly initial: 0 | 1
  /** Whether an update of the object (not of its status) counts as a new generation. */
  hasChanged(object: KubeObject, old: KubeObject): boolean
}

export interface KindStrategy {
  /** Fills in what the API documents as defaults. Must come to rest: applied twice it changes nothing more. */
  applyDefaults?(object: KubeObject): void
  /** Before a create: takes away what a client may not set, such as the status. */
  prepareForCreate?(object: KubeObject, context: WriteContext): void
  /**
   * Before an update of the object itself or through a subresource other than `status`, which the context names: keeps
   * from `old` what may not be changed this way, such as the status.
   */
  prepareForUpdate?(object: KubeObject, old: KubeObject, context: WriteContext): void
  /** Before an update of the status: keeps everything else from `old`. */
  prepareForStatusUpdate?(object: KubeObject, old: KubeObject, context: WriteContext): void
  /** Metadata included, in the order and with the texts of the API server. */
  validate?(object: KubeObject): readonly FieldError[]
  validateUpdate?(object: KubeObject, old: KubeObject, context: WriteContext): readonly FieldError[]
  validateStatusUpdate?(object: KubeObject, old: KubeObject): readonly FieldError[]
  /** Texts for `Warning` headers. */
  readonly warningsOnCreate?: ((object: KubeObject) => readonly string[]) | undefined
  warningsOnUpdate?(object: KubeObject, old: KubeObject): readonly string[]
  /** Whether a PUT without a resourceVersion overwrites; true unless said otherwise. */
  readonly allowsUnconditionalUpdate?: boolean
  /** Whether a PUT to a name that does not exist creates it. */
  readonly allowsCreateOnUpdate?: boolean
  /** Absent for kinds whose generation never changes. */
  readonly generation?: GenerationRule | undefined
  /** Seconds to wait before a delete takes effect when the client names none; absent or zero means at once. */
  readonly defaultGracePeriodSeconds?: ((object: KubeObject) => number) | undefined
}
