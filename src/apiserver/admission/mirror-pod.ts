/** Mirror pods: the API's picture of pods that a node runs by itself. They must not name objects that a node then may read. */
import { goQuote } from '../../kube/status/go-text.ts'
import { type Fields, has, struct, structs, text } from '../kinds/fields.ts'
import { referencesSecrets } from './pod-secrets.ts'

export const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror'

/** Volumes that need nothing from the API, or only secrets, which are looked at before. */
const harmlessVolumes = [
  'awsElasticBlockStore',
  'azureDisk',
  'cephfs',
  'cinder',
  'downwardAPI',
  'emptyDir',
  'fc',
  'flexVolume',
  'flocker',
  'gcePersistentDisk',
  'gitRepo',
  'hostPath',
  'image',
  'iscsi',
  'nfs',
  'photonPersistentDisk',
  'portworxVolume',
  'quobyte',
  'rbd',
  'scaleIO',
  'storageos',
  'vsphereVolume',
]
const referencingVolumes = [
  ['configMap', 'configmaps (via configmap volumes)'],
  ['secret', 'secrets (via secret volumes)'],
  ['csi', 'csidrivers (via CSI volumes)'],
  ['glusterfs', 'endpoints (via glusterFS volumes)'],
  ['persistentVolumeClaim', 'persistentvolumeclaims'],
  ['ephemeral', 'persistentvolumeclaims (via ephemeral volumes)'],
  ['azureFile', 'secrets (via azureFile volumes)'],
] as const
const referencingSources = [
  ['configMap', 'configmaps (via projected volumes)'],
  ['secret', 'secrets (via projected volumes)'],
  ['serviceAccountToken', 'serviceaccounts (via projected volumes)'],
  ['clusterTrustBundle', 'clustertrustbundles'],
  ['podCertificate', 'podcertificates'],
] as const

export type ApiReference =
  | { readonly kind: 'reference'; readonly what: string }
  /** A volume of a type that nobody here knows: it may reference anything. */
  | { readonly kind: 'unknown'; readonly why: string }

/** What objects of the API the pod needs, if any. */
export function apiReference(spec: Fields): ApiReference | undefined {
  if (text(spec, 'serviceAccountName') !== '') return { kind: 'reference', what: 'serviceaccounts' }
  if (referencesSecrets(spec)) return { kind: 'reference', what: 'secrets' }
  if (referencesConfigMaps(spec)) return { kind: 'reference', what: 'configmaps' }
  if (structs(spec, 'resourceClaims').length > 0) return { kind: 'reference', what: 'resourceclaims' }
  for (const volume of structs(spec, 'volumes')) {
    const found = volumeReference(volume)
    if (found !== undefined) return found
  }
  return undefined
}

function referencesConfigMaps(spec: Fields): boolean {
  const containers = ['containers', 'initContainers', 'ephemeralContainers'].flatMap((list) => structs(spec, list))
  const volumes = structs(spec, 'volumes')
  const references = [
    ...containers.flatMap((container) => structs(container, 'envFrom')).map((from) => struct(from, 'configMapRef')),
    ...containers
      .flatMap((container) => structs(container, 'env'))
      .map((variable) => struct(struct(variable, 'valueFrom'), 'configMapKeyRef')),
    ...volumes.map((volume) => struct(volume, 'configMap')),
    ...volumes
      .flatMap((volume) => structs(struct(volume, 'projected'), 'sources'))
      .map((source) => struct(source, 'configMap')),
  ]
  return references.some((reference) => text(reference, 'name') !== '')
}

function volumeReference(volume: Fields): ApiReference | undefined {
  if (harmlessVolumes.some((type) => has(volume, type))) return undefined
  const known = referencingVolumes.find(([type]) => has(volume, type))
  if (known !== undefined) return { kind: 'reference', what: known[1] }
  if (!has(volume, 'projected')) {
    return { kind: 'unknown', why: `unknown volume type for volume  ${goQuote(text(volume, 'name'))}` }
  }
  for (const source of structs(struct(volume, 'projected'), 'sources')) {
    const referencing = referencingSources.find(([type]) => has(source, type))
    if (referencing !== undefined) return { kind: 'reference', what: referencing[1] }
    if (!has(source, 'downwardAPI')) {
      return { kind: 'unknown', why: `unknown source for projected volume ${goQuote(text(volume, 'name'))}` }
    }
  }
  return undefined
}
