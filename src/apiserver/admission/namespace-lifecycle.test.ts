import { expect, it } from 'vitest'
import { admissionRequest, World } from '../../../test/worlds/admission-world.ts'
import { ApiError } from '../../kube/status/status.ts'
import { NamespaceLifecycle } from './namespace-lifecycle.ts'

const world = new World().add(
  'namespaces',
  { metadata: { name: 'here' }, status: { phase: 'Active' } },
  { metadata: { name: 'going' }, status: { phase: 'Terminating' } },
)
const plugin = new NamespaceLifecycle(world)
const inNamespace = (namespace: string, operation: 'CREATE' | 'UPDATE' = 'CREATE') =>
  admissionRequest({ resource: 'configmaps', operation, object: { metadata: { name: 'c', namespace } } })

it('lets objects into namespaces that are there', () => {
  plugin.admit(inNamespace('here'))
  plugin.admit(inNamespace('going', 'UPDATE'))
})

it('finds no other namespaces', () => {
  expect(() => plugin.admit(inNamespace('nowhere'))).toThrow('namespaces "nowhere" not found')
  expect(() => plugin.admit(inNamespace('nowhere', 'UPDATE'))).toThrow('namespaces "nowhere" not found')
})

it('says by a cause that a namespace is going', () => {
  const refuse = (): unknown => {
    try {
      return plugin.admit(inNamespace('going'))
    } catch (error) {
      return error instanceof ApiError ? error.status : error
    }
  }
  expect(refuse()).toMatchObject({
    code: 403,
    message:
      'configmaps "c" is forbidden: unable to create new content in namespace going because it is being terminated',
    details: {
      name: 'c',
      kind: 'configmaps',
      causes: [
        {
          reason: 'NamespaceTerminating',
          message: 'namespace going is being terminated',
          field: 'metadata.namespace',
        },
      ],
    },
  })
})

it.each(['default', 'kube-system', 'kube-public'])('keeps the namespace %s', (name) => {
  const request = admissionRequest({ resource: 'namespaces', operation: 'DELETE', old: { metadata: { name } } })
  expect(() => plugin.validate(request)).toThrow(`namespaces "${name}" is forbidden: this namespace may not be deleted`)
})

it('lets other namespaces go', () => {
  plugin.validate(
    admissionRequest({ resource: 'namespaces', operation: 'DELETE', old: { metadata: { name: 'here' } } }),
  )
})
