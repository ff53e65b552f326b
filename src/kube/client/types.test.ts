/** Holds our types against the published ones: what the API server sends and accepts must fit into ours. */
import type { SelfSubjectReview, TokenRequest, TokenReview } from 'kubernetes-types/authentication/v1.js'
import type { SelfSubjectAccessReview, SubjectAccessReview } from 'kubernetes-types/authorization/v1.js'
import type { CertificateSigningRequest } from 'kubernetes-types/certificates/v1.js'
import type { Lease } from 'kubernetes-types/coordination/v1.js'
import type {
  ConfigMap,
  Event,
  Namespace,
  Node,
  Pod,
  Secret,
  Service,
  ServiceAccount,
} from 'kubernetes-types/core/v1.js'
import type { EndpointSlice } from 'kubernetes-types/discovery/v1.js'
import { expect, it } from 'vitest'
import type { KubeObject } from '../objects.ts'
import * as kinds from './kinds.ts'
import type * as ours from './types.ts'

/** Only the fields we declare ourselves, not the open index that lets everything else pass. */
type Declared<T> = { [K in keyof T as string extends K ? never : K]: T[K] }

/** `Theirs` has every declared field of `Ours`, under a type that ours can hold. */
type Fits<Ours extends KubeObject, Theirs> =
  Exclude<keyof Declared<Ours>, keyof Theirs> extends never
    ? { [K in keyof Declared<Ours> & keyof Theirs]: Holds<Declared<Ours>[K], Theirs[K]> }[keyof Declared<Ours> &
        keyof Theirs]
    : false

type Holds<Ours, Theirs> = [Known<Theirs>] extends [Known<Ours>]
  ? Exclude<DeepKeys<Ours>, DeepKeys<Theirs>> extends never
    ? true
    : false
  : false

type Known<T> = Exclude<T, undefined>
type DeepKeys<T> =
  Known<T> extends readonly (infer Item)[] ? DeepKeys<Item> : Known<T> extends object ? keyof Known<T> : never

/** Compiles without an argument only if every field fits. */
function fits<Ours extends KubeObject, Theirs>(
  ...problem: Fits<Ours, Theirs> extends true ? [] : ['does not fit']
): void {
  expect(problem).toEqual([])
}

it('declares only fields that exist, under types that hold them', () => {
  fits<ours.Namespace, Namespace>()
  fits<ours.Node, Node>()
  fits<ours.Pod, Pod>()
  fits<ours.Service, Service>()
  fits<ours.Secret, Secret>()
  fits<ours.ConfigMap, ConfigMap>()
  fits<ours.ServiceAccount, ServiceAccount>()
  fits<ours.Event, Event>()
  fits<ours.EndpointSlice, EndpointSlice>()
  fits<ours.Lease, Lease>()
  fits<ours.CertificateSigningRequest, CertificateSigningRequest>()
  fits<ours.TokenReview, TokenReview>()
  fits<ours.TokenRequest, TokenRequest>()
  fits<ours.SelfSubjectReview, SelfSubjectReview>()
  fits<ours.SubjectAccessReview, SubjectAccessReview>()
  fits<ours.SelfSubjectAccessReview, SelfSubjectAccessReview>()
})

it('names every resource once, as the plural of its kind', () => {
  const resources = Object.values(kinds).filter((value) => typeof value === 'object' && 'resource' in value)
  const plurals = resources.map(({ resource }) => resource)
  expect(new Set(plurals).size).toBe(resources.length)
  for (const { resource, kind = '' } of resources) expect(`${kind.toLowerCase()}s`).toBe(resource)
})
