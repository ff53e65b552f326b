/** The secrets that a kubelet needs to mount a persistent volume. */
import type { KubeObject } from '../../../kube/objects.ts'

interface SecretReference {
  readonly name?: string
  readonly namespace?: string
}

interface SecretUser {
  readonly secretRef?: SecretReference
}

export interface PersistentVolumeObject extends KubeObject {
  readonly spec?: {
    readonly claimRef?: { readonly namespace?: string; readonly name?: string }
    readonly azureFile?: { readonly secretName?: string; readonly secretNamespace?: string }
    readonly csi?: {
      readonly nodePublishSecretRef?: SecretReference
      readonly nodeStageSecretRef?: SecretReference
      readonly nodeExpandSecretRef?: SecretReference
    }
    readonly cephfs?: SecretUser
    readonly cinder?: SecretUser
    readonly flexVolume?: SecretUser
    readonly iscsi?: SecretUser
    readonly rbd?: SecretUser
    readonly scaleIO?: SecretUser
    readonly storageos?: SecretUser
  }
}

/** The secrets of CSI controllers are not among them: those never reach a node. */
export function volumeSecrets({ spec = {} }: PersistentVolumeObject): { namespace: string; name: string }[] {
  const { azureFile, csi, cinder, storageos, claimRef } = spec
  const inNamespaceOfClaim = [spec.cephfs, spec.flexVolume, spec.iscsi, spec.rbd, spec.scaleIO].map(
    (source) => source?.secretRef,
  )
  const qualified = [csi?.nodePublishSecretRef, csi?.nodeStageSecretRef, csi?.nodeExpandSecretRef, cinder?.secretRef]
  const claimNamespace = claimRef?.namespace ?? ''
  return [
    { name: azureFile?.secretName ?? '', namespace: azureFile?.secretNamespace || claimNamespace },
    ...inNamespaceOfClaim.map((secret) => ({
      name: secret?.name ?? '',
      namespace: secret?.namespace || claimNamespace,
    })),
    ...[...qualified, storageos?.secretRef].map((secret) => ({
      name: secret?.name ?? '',
      namespace: secret?.namespace ?? '',
    })),
  ].filter(({ name }) => name !== '')
}
