/** Which secrets a pod names, and which of them its service account does not allow it to use. */
import type { KubeObject } from '../../kube/objects.ts'
import { type Fields, struct, structs, text } from '../kinds/fields.ts'

const volumesWithSecretRef = ['cephfs', 'cinder', 'flexVolume', 'rbd', 'scaleIO', 'iscsi', 'storageos']

type ContainerList = 'containers' | 'initContainers' | 'ephemeralContainers'
const containerWords: Readonly<Record<ContainerList, string>> = {
  containers: 'container',
  initContainers: 'init container',
  ephemeralContainers: 'ephemeral container',
}

export function referencesSecrets(spec: Fields): boolean {
  const containers = Object.keys(containerWords).flatMap((list) => structs(spec, list))
  const names = [
    ...structs(spec, 'imagePullSecrets').map((reference) => text(reference, 'name')),
    ...containers.flatMap((container) => containerSecrets(container).map(({ secret }) => secret)),
    ...structs(spec, 'volumes').flatMap(volumeSecrets),
  ]
  return names.some((name) => name !== '')
}

function volumeSecrets(volume: Fields): string[] {
  return [
    text(struct(volume, 'secret'), 'secretName'),
    text(struct(volume, 'azureFile'), 'secretName'),
    text(struct(struct(volume, 'csi'), 'nodePublishSecretRef'), 'name'),
    ...structs(struct(volume, 'projected'), 'sources').map((source) => text(struct(source, 'secret'), 'name')),
    ...volumesWithSecretRef.map((type) => text(struct(struct(volume, type), 'secretRef'), 'name')),
  ]
}

interface SecretUse {
  readonly how: string
  readonly secret: string
}

function containerSecrets(container: Fields): SecretUse[] {
  const variables = structs(container, 'env').flatMap((variable) => {
    const reference = struct(struct(variable, 'valueFrom'), 'secretKeyRef')
    return reference === undefined ? [] : [{ how: `envVar ${text(variable, 'name')}`, secret: text(reference, 'name') }]
  })
  const sources = structs(container, 'envFrom').flatMap((source) => {
    const reference = struct(source, 'secretRef')
    return reference === undefined ? [] : [{ how: 'envFrom', secret: text(reference, 'name') }]
  })
  return [...variables, ...sources]
}

/** The first use of a secret that the account does not list. */
export function secretNotAllowed(pod: KubeObject, account: KubeObject): string | undefined {
  const spec = struct(pod, 'spec') ?? {}
  const allowed = namesOf(account, 'secrets')
  const because = `is not allowed because service account ${account.metadata?.name ?? ''} does not reference that`
  const volume = structs(spec, 'volumes')
    .map((candidate) => struct(candidate, 'secret'))
    .filter((source) => source !== undefined)
    .map((source) => text(source, 'secretName'))
    .find((name) => !allowed.has(name))
  if (volume !== undefined) return `volume with secret.secretName="${volume}" ${because} secret`
  const inContainer =
    containerSecretNotAllowed(spec, 'initContainers', account) ?? containerSecretNotAllowed(spec, 'containers', account)
  if (inContainer !== undefined) return inContainer
  const pulls = structs(spec, 'imagePullSecrets').map((reference) => text(reference, 'name'))
  const pullable = namesOf(account, 'imagePullSecrets')
  const index = pulls.findIndex((name) => !pullable.has(name))
  return index === -1 ? undefined : `imagePullSecrets[${index}].name="${pulls[index]}" ${because} imagePullSecret`
}

export function containerSecretNotAllowed(spec: Fields, list: ContainerList, account: KubeObject): string | undefined {
  const allowed = namesOf(account, 'secrets')
  for (const container of structs(spec, list)) {
    const use = containerSecrets(container).find(({ secret }) => !allowed.has(secret))
    if (use === undefined) continue
    const what = `${containerWords[list]} ${text(container, 'name')} with ${use.how}`
    const because = `service account ${account.metadata?.name ?? ''} does not reference that secret`
    return `${what} referencing secret.secretName="${use.secret}" is not allowed because ${because}`
  }
  return undefined
}

function namesOf(account: KubeObject, list: string): Set<string> {
  return new Set(structs(account, list).map((reference) => text(reference, 'name')))
}
