/**
 * Which group versions the API server of a cluster serves itself, by its APIServices: built-in ones and those of custom resources.
 * All who may read a collection of theirs see the same in it; another server, behind an APIService with a service, may show each
 * caller something else. A hub that may not know this works all the same, and says that it does not know.
 */
import type { Resource } from '../../kube/client/kinds.ts'
import type { KubeObject } from '../../kube/objects.ts'
import type { Step } from '../../kube/reflector/protocol.ts'
import { Reflector, type ReflectorSource } from '../../kube/reflector/reflector.ts'
import { joinGroupVersion } from '../../kube/schema/catalogue.ts'
import { findApiError, isForbidden, isNotFound } from '../../kube/status/predicates.ts'
import { inBackground } from '../../process/background.ts'
import type { Part, RunningPart } from '../../process/lifecycle.ts'
import { MAX_GROUP_VERSION_CHARACTERS, MAX_TOLD_GROUP_VERSIONS } from '../../protocol/requests.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { Refusal } from '../refusal.ts'
import { clusterUnavailable } from '../shared/cluster-error.ts'

/** Rights are given by people; an edge that asks more often than this would not get them sooner. */
const LACKING_RIGHTS_RETRY_AFTER_SECONDS = 60

export interface ApiService extends KubeObject {
  spec?: {
    readonly group?: string
    readonly version?: string
    /** Who serves it; absent where the API server does. */
    readonly service?: object | null
  }
}

export const API_SERVICES: Resource<ApiService> = {
  group: 'apiregistration.k8s.io',
  version: 'v1',
  resource: 'apiservices',
  namespaced: false,
}

export interface LocalGroupsOptions {
  /** The APIServices of the cluster. */
  readonly source: ReflectorSource<ApiService>
  readonly clock: Clock
  readonly logger: Logger
}

/** Why they cannot be followed, where waiting does not help. */
type Obstacle = 'forbidden' | 'absent'

export class LocalGroups implements Part {
  readonly name = 'api groups'
  readonly #logger: Logger
  readonly #reflector: Reflector<ApiService>
  #obstacle: Obstacle | undefined
  #apiServerSays = ''
  #isFailing = false
  /** What is told, until something changes. */
  #told: readonly string[] | undefined

  constructor({ source, clock, logger }: LocalGroupsOptions) {
    this.#logger = logger
    this.#reflector = new Reflector(source, { clock, taken: (step) => this.#step(step) })
  }

  /** Sorted; empty where the API server has no APIServices. Throws a Refusal where it is not known, or not yet. */
  groupVersions(): readonly string[] {
    if (this.#obstacle === 'absent') return []
    if (this.#obstacle === 'forbidden')
      throw new Refusal(
        'hub-lacks-rights',
        `the hub may not know the APIServices of its cluster: ${this.#apiServerSays}. Where the cluster is administered, run ` +
          '`kubectl apply -f deploy/hub-rbac.yaml`, which has the right',
        { retryAfterSeconds: LACKING_RIGHTS_RETRY_AFTER_SECONDS },
      )
    if (!this.#reflector.synced) throw clusterUnavailable()
    this.#told ??= this.#look()
    return this.#told
  }

  /** Nobody waits for it: whoever asks before it is complete is asked to come back. */
  start(): Promise<RunningPart> {
    return Promise.resolve(inBackground((signal) => this.#reflector.run({}, signal)))
  }

  #step({ changes, synced, failure, next }: Step<ApiService>): void {
    if (changes.length > 0) this.#told = undefined
    if (failure !== undefined) this.#failed(failure.error)
    else if (synced === true || next.do === 'read') this.#follows()
  }

  #follows(): void {
    this.#obstacle = undefined
    this.#isFailing = false
  }

  #failed(error: unknown): void {
    const before = this.#obstacle
    if (isForbidden(error)) this.#obstacle = 'forbidden'
    else if (isNotFound(error)) this.#obstacle = 'absent'
    this.#apiServerSays = findApiError(error)?.message ?? ''
    const isTold = this.#isFailing && this.#obstacle === before
    this.#isFailing = true
    if (isTold) return
    if (this.#obstacle === 'forbidden')
      this.#logger.warn(
        { why: this.#apiServerSays },
        'not allowed to follow APIServices; edges keep custom resources for each reader apart. The right is in deploy/hub-rbac.yaml',
      )
    else if (this.#obstacle === 'absent')
      this.#logger.info(
        'the API server has no APIServices; edges keep all but built-in resources for each reader apart',
      )
    else this.#logger.warn({ err: error }, 'APIServices cannot be followed; going on with what is known')
  }

  #look(): readonly string[] {
    const local = [...this.#reflector.objects.values()].flatMap(({ spec }) => {
      if (spec?.version === undefined || (spec.service !== undefined && spec.service !== null)) return []
      const name = joinGroupVersion(spec.group ?? '', spec.version)
      return name.length > MAX_GROUP_VERSION_CHARACTERS ? [] : [name]
    })
    const sorted = [...new Set(local)].toSorted()
    if (sorted.length > MAX_TOLD_GROUP_VERSIONS)
      this.#logger.warn(
        { groupVersions: sorted.length, told: MAX_TOLD_GROUP_VERSIONS },
        'there are more group versions than edges are told of; they keep the others for each reader apart',
      )
    return sorted.slice(0, MAX_TOLD_GROUP_VERSIONS)
  }
}
