import { expect, it } from 'vitest'
import { isEmbeddedKind, withEmbeddedKinds } from './embedded-kinds.ts'

it('knows where the kind of an embedded object may stand', () => {
  expect(isEmbeddedKind('StatefulSet', 'spec.volumeClaimTemplates[12].kind')).toBe(true)
  expect(isEmbeddedKind('StatefulSet', 'spec.volumeClaimTemplates[0].apiVersion')).toBe(true)
  expect(isEmbeddedKind('StatefulSet', 'spec.volumeClaimTemplates[0].spec.kind')).toBe(false)
  expect(isEmbeddedKind('Deployment', 'spec.volumeClaimTemplates[0].kind')).toBe(false)
})

it('names the claims of a StatefulSet, and nothing else', () => {
  const claim = { metadata: { name: 'data' } }
  const set = { kind: 'StatefulSet', spec: { replicas: 1, volumeClaimTemplates: [claim] } }
  const typed = { kind: 'PersistentVolumeClaim', apiVersion: 'v1', ...claim }
  expect(withEmbeddedKinds(set)).toEqual({ ...set, spec: { replicas: 1, volumeClaimTemplates: [typed] } })
  const bare = { kind: 'StatefulSet', spec: {} }
  expect(withEmbeddedKinds(bare)).toBe(bare)
  const other = { kind: 'Other', spec: { volumeClaimTemplates: [claim] } }
  expect(withEmbeddedKinds(other)).toBe(other)
})
