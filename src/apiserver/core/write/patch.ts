/** A patch as a function from the present object to the wanted one. */
import { negotiatePatch, type PatchType } from '../../../kube/negotiation-body.ts'
import type { KubeObject } from '../../../kube/objects.ts'
import { applyPatch, type PatchKind } from '../../../kube/patch/index.ts'
import { unsupportedMediaType } from '../../../kube/status/index.ts'
import type { RequestContext } from '../../chain/handler.ts'
import { conform, type ExpectedKind, fieldValidationOf, readBodyBytes } from '../decode-body.ts'

const kinds: Readonly<Record<Exclude<PatchType, 'apply'>, PatchKind>> = {
  'json-patch': 'json',
  'merge-patch': 'merge',
  'strategic-merge-patch': 'strategic',
}

export async function patchProducer(
  context: RequestContext,
  resource: ExpectedKind,
): Promise<(old: KubeObject) => KubeObject> {
  const type = negotiatePatch(context.exchange.headers.get('content-type'), 'built-in')
  // Server-side apply is not built yet; taking such a patch for another kind would do harm.
  if (type === 'apply') {
    throw unsupportedMediaType([
      'application/json-patch+json',
      'application/merge-patch+json',
      'application/strategic-merge-patch+json',
    ])
  }
  const patch = await readBodyBytes(context)
  const validation = fieldValidationOf(context)
  return (old) => {
    const patched = applyPatch({ type: kinds[type], patch, object: old, message: resource.message })
    return conform(patched, resource, validation, context)
  }
}
