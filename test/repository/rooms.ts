/**
 * The rooms inside the roles: which folder of `src/apiserver`, `src/hub` and `src/edge` may import which other of the same
 * role. A file that stands beside the folders and that they import, such as an error, is a room too. All other files beside
 * them put the rooms together: they are the room `compose`, which may import everything and which nobody imports.
 *
 * A room may import only rooms that stand above it here, so there are no circles.
 */
import { importsOf } from './borders.ts'

type Rooms = Readonly<Record<string, readonly string[]>>

const composing = 'compose'

export const ROOMS: Readonly<Record<string, Rooms>> = {
  apiserver: {
    'setup-error': [],
    request: [],
    storage: [],
    kinds: ['request'],
    objects: ['request', 'storage', 'kinds'],
    answers: ['request'],
    audit: ['setup-error', 'request'],
    metrics: ['request', 'storage'],
    auth: ['setup-error', 'request', 'kinds'],
    chain: ['request', 'kinds', 'answers', 'audit', 'metrics', 'auth'],
    discovery: [],
    openapi: ['kinds'],
    heavy: ['kinds', 'objects', 'auth', 'openapi'],
    core: ['request', 'storage', 'kinds', 'objects', 'answers', 'auth', 'heavy'],
    delegation: ['request', 'answers', 'discovery', 'openapi', 'heavy'],
    admission: ['request', 'kinds', 'objects', 'auth', 'core'],
    controllers: ['request', 'storage', 'kinds', 'objects', 'auth', 'discovery', 'core', 'admission'],
    services: ['storage', 'kinds', 'objects', 'core', 'controllers'],
    pki: ['storage', 'kinds'],
  },
  hub: {
    refusal: [],
    targets: [],
    'denial-log': ['targets'],
    shared: ['refusal'],
    claims: ['refusal', 'shared'],
    cluster: ['refusal', 'shared', 'claims'],
    routing: ['shared'],
    port: ['refusal', 'claims', 'cluster'],
    join: ['refusal', 'claims', 'cluster', 'port'],
    certificates: ['refusal', 'shared', 'port', 'join'],
    'kube-proxy-token': ['refusal', 'shared', 'port'],
    'api-groups': ['refusal', 'shared', 'port'],
    sessions: ['refusal', 'targets', 'claims', 'cluster', 'routing', 'port', 'join'],
    fronts: ['denial-log', 'routing', 'port'],
    konnectivity: ['refusal', 'denial-log', 'cluster', 'routing', 'port', 'sessions'],
  },
  edge: {
    hub: [],
    identity: [],
    rotation: ['hub', 'identity'],
    join: ['hub', 'identity', 'rotation'],
    link: ['hub'],
    certificates: ['hub', 'identity', 'rotation'],
    kubeconfigs: ['hub', 'rotation', 'certificates'],
    'local-pods': [],
    filters: ['local-pods'],
    upstream: [],
    feeds: ['upstream'],
    reach: ['upstream'],
    readers: ['upstream'],
    'api-groups': ['hub', 'certificates', 'readers'],
    keeping: [],
    replica: ['local-pods', 'feeds', 'keeping', 'reach', 'readers', 'upstream'],
    endpoint: ['filters', 'replica', 'upstream'],
    forwards: [],
    destinations: [],
    konnectivity: [],
    network: [],
  },
}

interface Place {
  readonly role: string
  readonly room: string
}

/** undefined for what stands in no role. */
export function placeOf(path: string): Place | undefined {
  const [root, role = '', ...rest] = path.split('/')
  const rooms = ROOMS[role]
  if (root !== 'src' || rooms === undefined) return undefined
  const [first = ''] = rest
  if (rest.length > 1) return { role, room: first }
  const name = first.replace(/\.ts$/, '')
  return { role, room: Object.hasOwn(rooms, name) ? name : composing }
}

/** One import from a room into another of the same role. */
export interface Crossing {
  readonly role: string
  readonly from: string
  readonly to: string
  /** `path:line` */
  readonly where: string
}

/** Tests beside the sources put together what they need, and do not count. */
export function crossingsOf(sources: ReadonlyMap<string, string>): Crossing[] {
  return [...sources].flatMap(([path, text]) => {
    const here = placeOf(path)
    if (here === undefined || path.endsWith('.test.ts')) return []
    return importsOf(path, text).flatMap(({ target, line }) => {
      const there = placeOf(target)
      if (there?.role !== here.role || there.room === here.room) return []
      return [{ role: here.role, from: here.room, to: there.room, where: `${path}:${line}` }]
    })
  })
}

export function findRoomBreaches(sources: ReadonlyMap<string, string>): string[] {
  return crossingsOf(sources)
    .filter(({ role, from, to }) => from !== composing && ROOMS[role]?.[from]?.includes(to) !== true)
    .map(({ role, from, to, where }) => {
      const may = ROOMS[role]?.[from] ?? []
      return `${where}: ${role}/${from} imports ${role}/${to}; of its role it may import ${may.join(', ') || 'nothing'}`
    })
}
