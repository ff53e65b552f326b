import { describe, expect, it } from 'vitest'
import { admissionRequest } from '../../../test/worlds/admission-world.ts'
import { NotYetServed } from './not-yet-served.ts'

const plugin = new NotYetServed()
const registration = 'admissionregistration.k8s.io/v1'

describe('NotYetServed', () => {
  it.each([
    `${registration}/validatingwebhookconfigurations`,
    `${registration}/mutatingwebhookconfigurations`,
    `${registration}/validatingadmissionpolicies`,
    `${registration}/validatingadmissionpolicybindings`,
    `${registration}/mutatingadmissionpolicies`,
    `${registration}/mutatingadmissionpolicybindings`,
    'apiextensions.k8s.io/v1/customresourcedefinitions',
  ])('refuses %s by name', (resource) => {
    const request = admissionRequest({ resource, object: { metadata: { name: 'mine' } } })
    expect(() => plugin.admit(request)).toThrow(/"mine" is forbidden: this server does not .* yet/)
  })

  const services = 'apiregistration.k8s.io/v1/apiservices'
  const remote = { metadata: { name: 'v1.example.com' }, spec: { service: { name: 's', namespace: 'n' } } }

  it('refuses other API servers, new or by an update, and lets local ones be', () => {
    expect(() => plugin.admit(admissionRequest({ resource: services, object: remote }))).toThrow(
      'apiservices.apiregistration.k8s.io "v1.example.com" is forbidden: this server does not pass requests on',
    )
    const old = { ...remote, spec: {} }
    expect(() =>
      plugin.admit(admissionRequest({ resource: services, operation: 'UPDATE', object: remote, old })),
    ).toThrow('spec.service must not be set')
    plugin.admit(admissionRequest({ resource: services, object: old }))
  })

  it('lets an object that is going lose its finalizers', () => {
    const old = { metadata: { name: 'mine', deletionTimestamp: '2026-01-01T00:00:00Z' } }
    const resource = `${registration}/validatingwebhookconfigurations`
    plugin.admit(admissionRequest({ resource, operation: 'UPDATE', object: old, old }))
  })
})
