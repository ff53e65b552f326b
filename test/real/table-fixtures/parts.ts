/** What the fixtures of all kinds are made of. */
import type { KubeObject } from '../../../src/kube/objects.ts'

export interface TableFixture {
  readonly object: KubeObject
  /** Merged into the status of a certificate request, by the subresource of its approvers. */
  readonly approval?: object
  /** Merged into the status. */
  readonly status?: object
  /** Deletes it at the end: grace periods and finalizers keep it there, marked. */
  readonly deleted?: boolean
}

export type Ago = (ms: number) => string

export const second = 1_000
export const minute = 60 * second
export const hour = 60 * minute
export const day = 24 * hour

/** Stand for what only exists once the control plane does: a request, and a certificate as text and in base64. */
export const placeholders = {
  request: '__CSR__',
  certificate: '__PEM__',
  encodedCertificate: '__PEM_BASE64__',
} as const

export const container = (name: string) => ({ name, image: `registry.example/${name}:1` })
export const labels = { app: 'shop', tier: 'front' }
export const template = { metadata: { labels }, spec: { containers: [container('web'), container('log')] } }
export const selector = {
  matchLabels: { app: 'shop' },
  matchExpressions: [{ key: 'tier', operator: 'In', values: ['front', 'back'] }],
}

export const condition = (type: string, status = 'True', rest: object = {}) => ({ type, status, ...rest })
