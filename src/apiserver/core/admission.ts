/** What stands between a valid request and its effect: plugins that may change the object or refuse the request. */
import type { KubeObject } from '../../kube/objects.ts'
import type { Turns } from '../../runtime/turns.ts'
import type { Resource } from '../objects/resource.ts'
import type { UserInfo } from '../request/user.ts'

export interface AdmissionRequest {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'
  readonly resource: Resource
  readonly subresource: string
  readonly namespace: string
  readonly name: string
  readonly user: UserInfo
  readonly dryRun: boolean
  /** The object to be; absent for a delete. Mutating plugins change it in place. */
  readonly object: KubeObject | undefined
  /** For a delete it is read when somebody asks for it: plugins first make sure that the request concerns them. */
  readonly old: KubeObject | undefined
  warn(text: string): void
}

export interface AdmissionPlugin {
  readonly name: string
  /** Changes the object or throws an ApiError. Runs before validation. */
  admit?(request: AdmissionRequest): Promise<void> | void
  /** Looks only. Runs after validation, when the object will not change any more. */
  validate?(request: AdmissionRequest): Promise<void> | void
}

export class Admission {
  readonly #plugins: readonly AdmissionPlugin[]

  constructor(plugins: readonly AdmissionPlugin[]) {
    this.#plugins = plugins
  }

  /** With `turns`, others are served in between: a large object takes each plugin a while. */
  async admit(request: AdmissionRequest, turns?: Turns): Promise<void> {
    for (const plugin of this.#plugins) {
      await plugin.admit?.(request)
      if (turns?.isOver === true) await turns.next()
    }
  }

  async validate(request: AdmissionRequest, turns?: Turns): Promise<void> {
    for (const plugin of this.#plugins) {
      await plugin.validate?.(request)
      if (turns?.isOver === true) await turns.next()
    }
  }
}
