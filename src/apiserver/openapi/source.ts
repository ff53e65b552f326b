/** What `/openapi/v3` is made from: one part for each document. */
import {
  coreDiscoveryDocument,
  groupDiscoveryDocument,
  groupsDiscoveryDocument,
  issuerDocument,
  issuerKeysDocument,
  versionDocument,
} from './discovery-document.ts'
import { groupVersionDocument } from './group-version-document.ts'
import type { OpenApiDocument } from './openapi.ts'
import type { ServedGroupVersion } from './paths.ts'

export interface OpenApiPart {
  /** The path below `/openapi/v3/`, such as `apis/apps/v1`. */
  readonly name: string
  /** Called once at most. A part never changes: another document is another part. */
  make(): OpenApiDocument
}

/** Built-in types, custom resources and the aggregator each stand behind this interface. */
export interface OpenApiSource {
  /** Another number means other parts. */
  readonly generation: number
  parts(): Iterable<OpenApiPart>
}

/** Parts that are there from the start and stay. */
export function fixedOpenApi(parts: readonly OpenApiPart[]): OpenApiSource {
  return { generation: 0, parts: () => parts }
}

/** Everything that the server has of its own accord, for the built-in group versions that it serves. */
export function builtInParts(served: readonly ServedGroupVersion[]): OpenApiPart[] {
  const groups = new Set(served.map(({ group }) => group).filter((group) => group !== ''))
  return [
    { name: 'api', make: coreDiscoveryDocument },
    { name: 'apis', make: groupsDiscoveryDocument },
    { name: 'version', make: versionDocument },
    { name: '.well-known/openid-configuration', make: issuerDocument },
    { name: 'openid/v1/jwks', make: issuerKeysDocument },
    ...[...groups].map((group) => ({ name: `apis/${group}`, make: () => groupDiscoveryDocument(group) })),
    ...served.map((one) => ({ name: partName(one), make: () => groupVersionDocument(one) })),
  ]
}

function partName({ group, version }: ServedGroupVersion): string {
  return group === '' ? `api/${version}` : `apis/${group}/${version}`
}
