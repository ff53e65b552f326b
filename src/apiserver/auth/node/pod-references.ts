/** The objects of its namespace that a pod needs on its node. */
import type { KubeObject } from '../../../kube/objects.ts'
import type { RelatedResource } from './resources.ts'

interface Named {
  readonly name?: string
}

interface SecretUser {
  readonly secretRef?: Named
}

interface Container {
  readonly envFrom?: readonly { readonly secretRef?: Named; readonly configMapRef?: Named }[]
  readonly env?: readonly {
    readonly valueFrom?: { readonly secretKeyRef?: Named; readonly configMapKeyRef?: Named }
  }[]
}

interface Volume extends Named {
  readonly secret?: { readonly secretName?: string }
  readonly configMap?: Named
  readonly projected?: { readonly sources?: readonly { readonly secret?: Named; readonly configMap?: Named }[] }
  readonly persistentVolumeClaim?: { readonly claimName?: string }
  readonly ephemeral?: object
  readonly azureFile?: { readonly secretName?: string }
  readonly csi?: { readonly nodePublishSecretRef?: Named }
  readonly cephfs?: SecretUser
  readonly cinder?: SecretUser
  readonly flexVolume?: SecretUser
  readonly iscsi?: SecretUser
  readonly rbd?: SecretUser
  readonly scaleIO?: SecretUser
  readonly storageos?: SecretUser
}

export interface PodObject extends KubeObject {
  readonly spec?: {
    readonly nodeName?: string
    readonly serviceAccountName?: string
    readonly imagePullSecrets?: readonly Named[]
    readonly containers?: readonly Container[]
    readonly initContainers?: readonly Container[]
    readonly ephemeralContainers?: readonly Container[]
    readonly volumes?: readonly Volume[]
    readonly resourceClaims?: readonly (Named & { readonly resourceClaimName?: string })[]
  }
  readonly status?: {
    readonly resourceClaimStatuses?: readonly (Named & { readonly resourceClaimName?: string })[]
    readonly extendedResourceClaimStatus?: { readonly resourceClaimName?: string }
  }
}

const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror'

type Reference = readonly [RelatedResource, string]
type PossibleReference = readonly [RelatedResource, string | undefined]

/** None for a mirror pod: a node makes these itself, and must not be able to give itself access by one. */
export function podReferences(pod: PodObject): Reference[] {
  if (Object.hasOwn(pod.metadata?.annotations ?? {}, MIRROR_ANNOTATION)) return []
  const spec = pod.spec ?? {}
  const containers = [...(spec.containers ?? []), ...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])]
  const references: PossibleReference[] = [
    ['serviceaccounts', spec.serviceAccountName],
    ...(spec.imagePullSecrets ?? []).map(({ name }) => ['secrets', name] as const),
    ...containers.flatMap(containerReferences),
    ...(spec.volumes ?? []).flatMap((volume) => volumeReferences(volume, pod.metadata?.name ?? '')),
    ...claimNames(pod).map((name) => ['resourceclaims', name] as const),
  ]
  return references.filter((reference): reference is Reference => Boolean(reference[1]))
}

function containerReferences(container: Container): PossibleReference[] {
  return [
    ...(container.envFrom ?? []).flatMap(({ secretRef, configMapRef }) => [
      ['secrets', secretRef?.name] as const,
      ['configmaps', configMapRef?.name] as const,
    ]),
    ...(container.env ?? []).flatMap(({ valueFrom }) => [
      ['secrets', valueFrom?.secretKeyRef?.name] as const,
      ['configmaps', valueFrom?.configMapKeyRef?.name] as const,
    ]),
  ]
}

function volumeReferences(volume: Volume, podName: string): PossibleReference[] {
  const { cephfs, cinder, flexVolume, iscsi, rbd, scaleIO, storageos } = volume
  const withSecret = [cephfs, cinder, flexVolume, iscsi, rbd, scaleIO, storageos].map(
    (source) => source?.secretRef?.name,
  )
  const projected = volume.projected?.sources ?? []
  const secrets = [
    volume.secret?.secretName,
    volume.azureFile?.secretName,
    volume.csi?.nodePublishSecretRef?.name,
    ...withSecret,
    ...projected.map(({ secret }) => secret?.name),
  ]
  const configMaps = [volume.configMap?.name, ...projected.map(({ configMap }) => configMap?.name)]
  // The claim of an ephemeral volume is made by a controller, under this name.
  const ephemeralClaim = volume.ephemeral ? `${podName}-${volume.name ?? ''}` : undefined
  return [
    ...secrets.map((name) => ['secrets', name] as const),
    ...configMaps.map((name) => ['configmaps', name] as const),
    ['persistentvolumeclaims', volume.persistentVolumeClaim?.claimName ?? ephemeralClaim],
  ]
}

/** A claim made from a template is named in the status, once it exists. */
function claimNames({ spec, status }: PodObject): (string | undefined)[] {
  const generated = status?.resourceClaimStatuses ?? []
  return [
    ...(spec?.resourceClaims ?? []).map(
      ({ name, resourceClaimName }) =>
        resourceClaimName ?? generated.find((candidate) => candidate.name === name)?.resourceClaimName,
    ),
    status?.extendedResourceClaimStatus?.resourceClaimName,
  ]
}
