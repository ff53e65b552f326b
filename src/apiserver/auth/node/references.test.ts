import { expect, it } from 'vitest'
import { type PodObject, podReferences } from './pod-references.ts'
import { volumeSecrets } from './volume-references.ts'

const metadata = { name: 'p', namespace: 'x' }

it.each<[string, object, string[]]>([
  ['imagePullSecrets', { imagePullSecrets: [{ name: 'a' }, {}, { name: '' }] }, ['secrets a']],
  ['serviceAccountName', { serviceAccountName: 'a' }, ['serviceaccounts a']],
  ['azureFile', { volumes: [{ azureFile: { secretName: 'a' } }] }, ['secrets a']],
  ['csi', { volumes: [{ csi: { nodePublishSecretRef: { name: 'a' } } }] }, ['secrets a']],
  ...['cephfs', 'cinder', 'flexVolume', 'iscsi', 'rbd', 'scaleIO', 'storageos'].map<[string, object, string[]]>(
    (source) => [source, { volumes: [{ [source]: { secretRef: { name: 'a' } } }] }, ['secrets a']],
  ),
  ['ephemeral', { volumes: [{ name: 'v', ephemeral: {} }] }, ['persistentvolumeclaims p-v']],
  [
    'ephemeralContainers',
    { ephemeralContainers: [{ envFrom: [{ configMapRef: { name: 'a' } }, { secretRef: { name: 'b' } }] }] },
    ['configmaps a', 'secrets b'],
  ],
])('a pod refers to objects by %s', (_, spec, expected) => {
  expect(podReferences({ metadata, spec }).map((reference) => reference.join(' '))).toEqual(expected)
})

it('takes the names of generated claims from the status', () => {
  const spec = { resourceClaims: [{ name: 'a', resourceClaimName: 'x' }, { name: 'b' }, { name: 'c' }] }
  const status = {
    resourceClaimStatuses: [{ name: 'b', resourceClaimName: 'y' }, { name: 'c' }],
    extendedResourceClaimStatus: { resourceClaimName: 'z' },
  }
  expect(podReferences({ metadata, spec, status })).toEqual([
    ['resourceclaims', 'x'],
    ['resourceclaims', 'y'],
    ['resourceclaims', 'z'],
  ])
})

it('ignores all that a mirror pod refers to', () => {
  const annotations = { 'kubernetes.io/config.mirror': '' }
  expect(podReferences({ metadata: { ...metadata, annotations }, spec: { serviceAccountName: 'a' } })).toEqual([])
})

it('reads null as nothing', () => {
  const text =
    '{"metadata":{"annotations":null},"spec":{"containers":[{"env":null,"envFrom":null}],"volumes":[{"ephemeral":null}]}}'
  expect(podReferences(JSON.parse(text) as PodObject)).toEqual([])
})

const claimRef = { namespace: 'claim', name: 'c' }

it.each<[string, object, { namespace: string; name: string }[]]>([
  ['azureFile', { azureFile: { secretName: 'a' } }, [{ namespace: 'claim', name: 'a' }]],
  ['azureFile elsewhere', { azureFile: { secretName: 'a', secretNamespace: 'n' } }, [{ namespace: 'n', name: 'a' }]],
  ['rbd', { rbd: { secretRef: { name: 'a' } } }, [{ namespace: 'claim', name: 'a' }]],
  ['iscsi elsewhere', { iscsi: { secretRef: { name: 'a', namespace: 'n' } } }, [{ namespace: 'n', name: 'a' }]],
  ['cinder', { cinder: { secretRef: { name: 'a', namespace: 'n' } } }, [{ namespace: 'n', name: 'a' }]],
  ['controllers of csi', { csi: { controllerPublishSecretRef: { name: 'a', namespace: 'n' } } }, []],
  ['nothing', { hostPath: { path: '/' } }, []],
])('a volume refers to secrets by %s', (_, spec, expected) => {
  expect(volumeSecrets({ spec: { claimRef, ...spec } })).toEqual(expected)
})
