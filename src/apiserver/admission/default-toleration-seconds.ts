/** Pods stay five minutes on a node that is not ready or not reachable, unless they say otherwise. */
import type { AdmissionPlugin, AdmissionRequest } from '../core/admission.ts'
import { ensureStruct, structs, text } from '../kinds/fields.ts'
import { PODS } from './lookup.ts'
import { concernsObject } from './refusal.ts'

/** What Kubernetes gives a pod on a node that has gone silent. */
const DEFAULT_TOLERATION_SECONDS = 300

const taints = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']
const effect = 'NoExecute'

export class DefaultTolerationSeconds implements AdmissionPlugin {
  readonly name = 'DefaultTolerationSeconds'

  admit(request: AdmissionRequest): void {
    if (request.object === undefined || !concernsObject(request, PODS)) return
    const spec = ensureStruct(request.object, 'spec')
    const present = structs(spec, 'tolerations')
    const missing = taints.filter(
      (key) =>
        !present.some(
          (toleration) =>
            ['', key].includes(text(toleration, 'key')) && ['', effect].includes(text(toleration, 'effect')),
        ),
    )
    if (missing.length === 0) return
    const added = missing.map((key) => ({
      key,
      operator: 'Exists',
      effect,
      tolerationSeconds: DEFAULT_TOLERATION_SECONDS,
    }))
    spec['tolerations'] = [...present, ...added]
  }
}
