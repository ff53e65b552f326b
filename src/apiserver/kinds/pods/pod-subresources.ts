/** The subresources of pods that change one thing and keep all else: `ephemeralcontainers` and `resize`. */
import { type FieldError, forbiddenField } from '../../../kube/status/field-error.ts'
import { sameStored } from '../equality.ts'
import { copyField, ensureStruct, type Fields, struct, structs, text } from '../fields.ts'
import { qosClass } from './qos.ts'

export function keepAllButEphemeralContainers(pod: Fields, old: Fields): void {
  const added = struct(pod, 'spec')?.['ephemeralContainers']
  keepSpecAndMetadata(pod, old)
  const spec = ensureStruct(pod, 'spec')
  if (added === undefined) delete spec['ephemeralContainers']
  else spec['ephemeralContainers'] = added
}

export function keepAllButResources(pod: Fields, old: Fields): void {
  const wanted = struct(pod, 'spec') ?? {}
  const names = (spec: Fields, list: string): string[] =>
    structs(spec, list).map((container) => text(container, 'name'))
  const before = struct(old, 'spec') ?? {}
  const lists = ['containers', 'initContainers']
  if (!lists.every((list) => sameStored(names(wanted, list), names(before, list)))) return
  keepSpecAndMetadata(pod, old)
  for (const list of lists) {
    for (const [index, container] of structs(struct(pod, 'spec'), list).entries()) {
      const source = structs(wanted, list)[index] ?? {}
      copyField(container, source, 'resources')
      copyField(container, source, 'resizePolicy')
    }
  }
}

function keepSpecAndMetadata(pod: Fields, old: Fields): void {
  copyField(pod, old, 'spec')
  const metadata = ensureStruct(pod, 'metadata')
  for (const name of ['labels', 'annotations', 'finalizers', 'ownerReferences']) {
    copyField(metadata, struct(old, 'metadata') ?? {}, name)
  }
}

/** Ephemeral containers may be added, never changed or removed. */
export function checkEphemeralContainersUpdate(pod: Fields, old: Fields): FieldError[] {
  const path = 'spec.ephemeralContainers'
  const now = new Map(structs(struct(pod, 'spec'), 'ephemeralContainers').map((added) => [text(added, 'name'), added]))
  return structs(struct(old, 'spec'), 'ephemeralContainers').flatMap((before, index) => {
    const name = text(before, 'name')
    const after = now.get(name)
    if (after === undefined) {
      return [forbiddenField(path, `existing ephemeral containers ${JSON.stringify(name)} may not be removed\n`)]
    }
    return sameStored(after, before)
      ? []
      : [
          forbiddenField(
            `${path}[${index}]`,
            `existing ephemeral containers ${JSON.stringify(name)} may not be changed\n`,
          ),
        ]
  })
}

/** The quality of service was promised when the pod was created. */
export function checkResize(pod: Fields, old: Fields): FieldError[] {
  const [now, before] = [qosClass(struct(pod, 'spec') ?? {}), text(struct(old, 'status'), 'qosClass')]
  return before === '' || now === before
    ? []
    : [forbiddenField('spec', `Pod QOS Class may not change as a result of resizing`)]
}
