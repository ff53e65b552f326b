import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { eventually, type ObjectServer, rest, startObjectServer } from '../../../test/worlds/object-server.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { forbidden } from '../../kube/status/resource-errors.ts'
import type { AdmissionPlugin } from '../core/admission.ts'
import { type Fields, struct, structs, text } from '../kinds/fields.ts'
import { builtIn } from '../objects/resource.ts'
import { type RunningController, runController } from './controller.ts'
import { NAMESPACES } from './namespace-state.ts'
import { NAMESPACE_RECHECK_MS, namespaceController } from './namespaces.ts'
import { rootCaController } from './root-ca.ts'
import { serviceAccountController } from './service-accounts.ts'

const configMaps = builtIn('v1', 'configmaps')
const accounts = builtIn('v1', 'serviceaccounts')
const pods = builtIn('v1', 'pods')
const leases = builtIn('coordination.k8s.io/v1', 'leases')

let server: ObjectServer
const running: RunningController[] = []
let refusesDeletes = false

const stubborn: AdmissionPlugin = {
  name: 'Stubborn',
  validate({ operation, resource, name }) {
    if (refusesDeletes && operation === 'DELETE' && resource.kind === 'ConfigMap') {
      throw forbidden(resource.groupResource, name, 'not now')
    }
  },
}

beforeEach(async () => {
  refusesDeletes = false
  server = await startObjectServer(() => [stubborn])
})
afterEach(async () => {
  for (const controller of running.splice(0)) await controller.stop()
  await server.stop()
  expect(server.clock.pending).toBe(0)
})

const run = (controller: Parameters<typeof runController>[0]): void => {
  running.push(runController(controller, server))
}
const namespace = (name: string): KubeObject => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
const configMap = (namespaceName: string, name: string, finalizers: string[] = []): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { namespace: namespaceName, name, ...(finalizers.length === 0 ? {} : { finalizers }) },
})
const find = (name: string): KubeObject | undefined => server.get(NAMESPACES, '', name)
const condition = (name: string, type: string): Fields =>
  structs(struct(find(name), 'status'), 'conditions').find((each) => text(each, 'type') === type) ?? {}

describe('the namespace controller', () => {
  it('empties a namespace that is deleted, then lets it go; others are not touched', async () => {
    run(namespaceController(server.client))
    for (const name of ['a', 'b']) {
      await server.create(NAMESPACES, namespace(name))
      await server.create(configMaps, configMap(name, 'settings'))
      await server.create(leases, {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { namespace: name, name: 'lock' },
      })
    }
    await server.delete(NAMESPACES, '', 'a')
    await eventually(() => find('a') === undefined)
    expect(server.client.list(configMaps).map(({ metadata }) => metadata?.namespace)).toEqual(['b'])
    expect(server.client.list(leases).map(({ metadata }) => metadata?.namespace)).toEqual(['b'])
  })

  it('goes on with a namespace that was deleted before it started', async () => {
    await server.create(NAMESPACES, namespace('a'))
    await server.create(configMaps, configMap('a', 'settings'))
    await server.delete(NAMESPACES, '', 'a')
    expect(struct(find('a'), 'status')).toMatchObject({ phase: 'Terminating' })
    run(namespaceController(server.client))
    await eventually(() => find('a') === undefined)
    expect(server.client.list(configMaps)).toEqual([])
  })

  it('waits for finalizers of the contents and says so', async () => {
    run(namespaceController(server.client))
    await server.create(NAMESPACES, namespace('a'))
    await server.create(configMaps, configMap('a', 'held', ['example.com/hold']))
    await server.delete(NAMESPACES, '', 'a')
    await eventually(() => condition('a', 'NamespaceFinalizersRemaining')['status'] === 'True')
    expect(condition('a', 'NamespaceContentRemaining')).toMatchObject({
      status: 'True',
      reason: 'SomeResourcesRemain',
      message: 'Some resources are remaining: configmaps. has 1 resource instances',
    })
    expect(condition('a', 'NamespaceFinalizersRemaining')).toMatchObject({
      reason: 'SomeFinalizersRemain',
      message: 'Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances',
    })
    expect(condition('a', 'NamespaceDeletionContentFailure')).toMatchObject({
      status: 'False',
      reason: 'ContentDeleted',
    })
    await server.update(configMaps, 'a', 'held', (old) => ({ ...old, metadata: { ...old.metadata, finalizers: [] } }))
    await eventually(() => find('a') === undefined)
  })

  it('takes away finalizers that only stand for a way to delete', async () => {
    run(namespaceController(server.client))
    await server.create(NAMESPACES, namespace('a'))
    await server.create(configMaps, configMap('a', 'parent'))
    await server.delete(configMaps, 'a', 'parent', { propagationPolicy: 'Foreground' })
    await server.delete(NAMESPACES, '', 'a')
    await eventually(() => find('a') === undefined)
  })

  it('deletes nothing else while pods are left', async () => {
    run(namespaceController(server.client))
    await server.create(NAMESPACES, namespace('a'))
    await server.create(configMaps, configMap('a', 'settings'))
    await server.create(pods, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { namespace: 'a', name: 'web', finalizers: ['example.com/hold'] },
      spec: { containers: [{ name: 'web', image: 'web' }] },
    })
    await server.delete(NAMESPACES, '', 'a')
    await eventually(() => condition('a', 'NamespaceContentRemaining')['status'] === 'True')
    await rest()
    expect(condition('a', 'NamespaceContentRemaining')['message']).toContain('pods. has 1 resource instances')
    expect(server.get(configMaps, 'a', 'settings')).toBeDefined()
    await server.update(pods, 'a', 'web', (old) => ({ ...old, metadata: { ...old.metadata, finalizers: [] } }))
    await server.delete(pods, 'a', 'web', { gracePeriodSeconds: 0 }).catch(() => {})
    await eventually(() => find('a') === undefined)
  })

  it('reports what could not be deleted and tries again', async () => {
    run(namespaceController(server.client))
    await server.create(NAMESPACES, namespace('a'))
    await server.create(configMaps, configMap('a', 'settings'))
    refusesDeletes = true
    await server.delete(NAMESPACES, '', 'a')
    await eventually(() => condition('a', 'NamespaceDeletionContentFailure')['status'] === 'True')
    expect(condition('a', 'NamespaceDeletionContentFailure')).toMatchObject({
      reason: 'ContentDeletionFailed',
      message: 'Failed to delete all resource types, 1 remaining: configmaps "settings" is forbidden: not now',
    })
    refusesDeletes = false
    await rest()
    await server.clock.advance(NAMESPACE_RECHECK_MS)
    await eventually(() => find('a') === undefined)
  })

  it('leaves a namespace to those who put a finalizer of their own on it', async () => {
    run(namespaceController(server.client))
    await server.create(NAMESPACES, { ...namespace('a'), spec: { finalizers: ['example.com/mine'] } })
    await server.delete(NAMESPACES, '', 'a')
    await eventually(() => !JSON.stringify(find('a')).includes('"kubernetes"'))
    await rest()
    expect(struct(find('a'), 'spec')).toMatchObject({ finalizers: ['example.com/mine'] })
  })
})

describe('what every namespace has', () => {
  const account = (name: string): KubeObject | undefined => server.get(accounts, name, 'default')
  const ca = (name: string): KubeObject | undefined => server.get(configMaps, name, 'kube-root-ca.crt')

  it('is a ServiceAccount, made again when it is deleted', async () => {
    await server.create(NAMESPACES, namespace('old'))
    run(serviceAccountController(server.client))
    await server.create(NAMESPACES, namespace('new'))
    await eventually(() => account('old') !== undefined && account('new') !== undefined)
    const { uid } = account('new')?.metadata ?? {}
    await server.delete(accounts, 'new', 'default')
    await eventually(() => account('new') !== undefined && account('new')?.metadata?.uid !== uid)
  })

  it('is the CA, put right when it is changed, without taking away what others added', async () => {
    run(rootCaController(server.client, 'THE CA'))
    await server.create(NAMESPACES, namespace('a'))
    await eventually(() => ca('a') !== undefined)
    expect(ca('a')?.['data']).toEqual({ 'ca.crt': 'THE CA' })
    await server.update(configMaps, 'a', 'kube-root-ca.crt', (old) => ({
      ...old,
      metadata: { ...old.metadata, labels: { mine: 'yes' } },
      data: { 'ca.crt': 'ANOTHER', more: 'x' },
    }))
    await eventually(() => struct(ca('a'), 'data')?.['ca.crt'] === 'THE CA')
    expect(ca('a')).toMatchObject({ metadata: { labels: { mine: 'yes' } }, data: { 'ca.crt': 'THE CA' } })
  })

  it('is not made in a namespace that is going', async () => {
    await server.create(NAMESPACES, namespace('a'))
    await server.delete(NAMESPACES, '', 'a')
    run(serviceAccountController(server.client))
    run(rootCaController(server.client, 'THE CA'))
    await rest()
    expect([account('a'), ca('a')]).toEqual([undefined, undefined])
  })
})
