/** Requests that change nothing: asked twice, an API server answers them with the same bytes. */
import type { Question } from './endpoint-transparency-client.ts'
import { NODE } from './endpoint-transparency-edge.ts'

/** The number of fixtures is such that an API server compresses a list of them. */
export const CONFIG_MAPS = 150

const types = {
  json: 'application/json',
  yaml: 'application/yaml',
  protobuf: 'application/vnd.kubernetes.protobuf',
  cbor: 'application/cbor',
  table: 'application/json;as=Table;v=v1;g=meta.k8s.io',
  tableProtobuf: 'application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io',
  metadata: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
  metadataProtobuf: 'application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
  metadataList: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
  metadataListProtobuf: 'application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
} as const

const discovery = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
const openApiProtobuf = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf'
const configMaps = '/api/v1/namespaces/shared/configmaps'

function get(path: string, accept?: string, headers: Question['headers'] = {}): Question {
  return { path, headers: { ...(accept === undefined ? {} : { accept }), ...headers } }
}

const gzip = { 'accept-encoding': 'gzip' }

/** `list` is pinned to a version, of which nothing that is written later can change the answer. */
function representations(one: string, list: string): Question[] {
  const ofOne = ['json', 'yaml', 'protobuf', 'cbor', 'table', 'tableProtobuf', 'metadata', 'metadataProtobuf'] as const
  const ofList = ['json', 'yaml', 'protobuf', 'cbor', 'table', 'metadataList', 'metadataListProtobuf'] as const
  return [
    get(one),
    ...ofOne.map((type) => get(one, types[type])),
    ...ofList.map((type) => get(list, types[type])),
    get(list, types.json, gzip),
    get(list, types.protobuf, gzip),
  ]
}

/** As the service account, which may do everything but read Secrets. */
export function readsOfAccount(version: string): Question[] {
  const pinned = `resourceVersion=${version}&resourceVersionMatch=Exact`
  return [
    ...representations(`${configMaps}/item-7`, `${configMaps}?${pinned}`),
    get(`${configMaps}?${pinned}&limit=40`),
    get(`${configMaps}?labelSelector=half%3Dodd&fieldSelector=metadata.name!%3Ditem-7&${pinned}`),
    get(`${configMaps}/item-7?pretty=true`),
    get(`${configMaps}/item-7`, undefined, { accept: ['application/yaml', types.json] }),
    get(`${configMaps}/item-7`, undefined, { 'impersonate-user': 'admin', 'impersonate-group': ['one', 'two'] }),
    get('/api/v1/namespaces/shared'),
    get('/api/v1/componentstatuses/scheduler'),
    ...refusals(),
    ...documents(),
    ...spellings(),
    ...otherMethods(),
  ]
}

/** Statuses 404, 403, 406, 400, 410 and those of an aggregated API that nobody serves. */
function refusals(): Question[] {
  return [
    get(`${configMaps}/absent`),
    get(`${configMaps}/absent`, types.protobuf),
    get(`${configMaps}/absent`, types.yaml),
    get('/api/v1/nonsense'),
    get('/apis/nonsense.example/v1'),
    get('/nonsense'),
    get('/api/v1/namespaces/shared/secrets'),
    get('/api/v1/namespaces/shared/secrets', types.protobuf),
    get(`${configMaps}/item-7`, 'image/png'),
    get(`${configMaps}?limit=nonsense`),
    get(`${configMaps}?resourceVersion=2&resourceVersionMatch=Exact`),
    get(`${configMaps}?continue=nonsense`),
    get(`${configMaps}?labelSelector=%3D%3D`),
    get('/apis/absent.example/v1'),
    get('/apis/absent.example/v1/things'),
    get('/api/v1/namespaces/shared/services/absent/proxy/'),
    get('/api/v1/namespaces/shared/pods/one/log?container=absent'),
  ]
}

/** What clients learn the API from, and what tells whether a server is well. */
function documents(): Question[] {
  return [
    ...['/', '/api', '/apis', '/api/v1', '/apis/apps', '/apis/apps/v1', '/version'].map((path) => get(path)),
    ...['/api', '/apis'].flatMap((path) => [get(path, discovery), get(path, discovery, gzip)]),
    get('/openapi/v2'),
    get('/openapi/v2', openApiProtobuf, gzip),
    get('/openapi/v3'),
    get('/openapi/v3/apis/batch/v1'),
    get('/openapi/v3/apis/batch/v1', 'application/com.github.proto-openapi.spec.v3@v1.0+protobuf', gzip),
    get('/openapi/v3/apis/batch/v1?hash=OLD'),
    get('/healthz'),
    get('/livez?verbose'),
    get('/readyz?verbose&exclude=etcd'),
    get('/readyz/nonsense'),
    get('/.well-known/openid-configuration'),
    get('/openid/v1/jwks'),
  ]
}

/** Unusual, and none of our business: which object is meant is for the API server to say. */
function spellings(): Question[] {
  return [
    get(`${configMaps}/item%2D7`),
    get('/api/v1/namespaces/shared%2Fconfigmaps/item-7'),
    get('/api/v1/namespaces/sh%61red/configmaps/item-7'),
    get('//api/v1/namespaces/shared/configmaps/item-7'),
    get('/api/v1//namespaces/shared'),
    get('/api/v1/namespaces/shared/'),
    get('/api/v1/namespaces/../namespaces/shared'),
    get('/api/v1/namespaces/%2e%2e/namespaces/shared'),
    get('/api/v1/namespaces/shared?&'),
    get('/api/v1/namespaces/shared?pretty=true&pretty=false;a=b'),
    get(`${configMaps}/item-7?pretty=%`),
  ]
}

function otherMethods(): Question[] {
  return [
    { method: 'HEAD', path: '/healthz' },
    { method: 'HEAD', path: `${configMaps}/item-7` },
    { method: 'HEAD', path: '/openapi/v2' },
    { method: 'OPTIONS', path: `${configMaps}/item-7` },
    { method: 'TRACE', path: `${configMaps}/item-7` },
    { method: 'PROPFIND', path: `${configMaps}/item-7` },
    { method: 'POST', path: `${configMaps}/item-7`, body: '{}', headers: { 'content-type': types.json } },
    { method: 'DELETE', path: '/api/v1/namespaces' },
    { method: 'PUT', path: '/version', body: '{}' },
  ]
}

/** As the node, which reads what it runs and is refused the rest. */
export function readsOfNode(version: string): Question[] {
  const pods = `/api/v1/pods?fieldSelector=spec.nodeName%3D${NODE}&resourceVersion=${version}&resourceVersionMatch=Exact`
  return [
    ...representations(`/api/v1/nodes/${NODE}`, pods),
    get('/api/v1/namespaces/shared/pods/one'),
    get('/api/v1/namespaces/shared/pods/one', types.protobuf),
    get('/api/v1/services', types.protobuf),
    get('/api/v1/namespaces/shared/secrets/absent'),
    get('/api/v1/secrets'),
    get('/api/v1/nodes/another'),
    get('/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/another'),
    get('/apis', discovery),
  ]
}

/** With no credentials, or with some that nobody believes. */
export const readsOfNobody: readonly Question[] = [
  get('/api/v1/nodes'),
  get('/version'),
  get('/healthz'),
  get('/api/v1/nodes', types.json, { authorization: 'Bearer nonsense' }),
  get('/healthz', types.json, { authorization: 'Bearer nonsense' }),
  get('/api/v1/nodes', types.json, { authorization: 'Basic bm9ib2R5Om5vYm9keQ==' }),
]

/** Asked again with the tag of the first answer, these come without a body. */
export const taggedDocuments: readonly Question[] = [
  get('/openapi/v2', types.json),
  get('/openapi/v3/apis/batch/v1'),
  get('/api', discovery),
  get('/apis', discovery),
]
