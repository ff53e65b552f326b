/** The documents about the API itself: version, discovery, OpenAPI. */
import { kubernetesVersion } from '../../kube/schema/schema.ts'
import { respond } from '../answers/respond.ts'
import type { DiscoveryDocuments } from '../discovery/documents.ts'
import { renderedOf } from '../heavy/heavy-task.ts'
import type { HeavyWork } from '../heavy/heavy-work.ts'
import type { OpenApiDocuments } from '../openapi/documents.ts'
import type { RequestContext } from '../request/handler.ts'
import type { Delegate } from './delegate.ts'

export interface Documents {
  readonly discovery: DiscoveryDocuments
  readonly openApi: OpenApiDocuments
  readonly heavy: Pick<HeavyWork, 'run'>
}

export function documentsHandler({ discovery, openApi, heavy }: Documents): Delegate {
  return async (context) => {
    const { info, exchange } = context
    if (info.kind !== 'non-resource' || !['get', 'head'].includes(info.verb)) return false
    const answer =
      versionDocument(info.path) ??
      (await openApiAnswer(openApi, heavy, info.path, context)) ??
      discoveryAnswer(discovery, info.path, context)
    if (answer === undefined) return false
    await respond(context, answer.status, answer.headers, exchange.method === 'HEAD' ? Buffer.alloc(0) : answer.body)
    return true
  }
}

interface DocumentAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

function versionDocument(path: string): DocumentAnswer | undefined {
  if (path !== '/version' && path !== '/version/') return undefined
  const gitVersion = kubernetesVersion()
  const [major = '', minor = ''] = gitVersion.slice(1).split('.')
  const version = {
    major,
    minor,
    emulationMajor: major,
    emulationMinor: minor,
    minCompatibilityMajor: major,
    minCompatibilityMinor: String(Number(minor) - 1),
    gitVersion,
    gitCommit: '',
    gitTreeState: '',
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: `node${process.versions.node}`,
    compiler: 'causeway',
    // In Go's words, which clients know.
    platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
  }
  return {
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(version, null, 2)),
  }
}

async function openApiAnswer(
  openApi: OpenApiDocuments,
  heavy: Documents['heavy'],
  path: string,
  { exchange, query, user, signal }: RequestContext,
): Promise<DocumentAnswer | undefined> {
  const request = {
    accept: exchange.headers.get('accept') ?? '',
    hash: query.first('hash') ?? '',
    ifNoneMatch: exchange.headers.get('if-none-match') ?? '',
  }
  await openApi.ready(path, request, signal, async (documents, form) =>
    renderedOf(await heavy.run({ step: 'swagger', documents, form }, user.name, signal)),
  )
  return openApi.openApiDocument(path, request)
}

function discoveryAnswer(
  discovery: DiscoveryDocuments,
  path: string,
  { exchange, query }: RequestContext,
): DocumentAnswer | undefined {
  if (!/^\/apis?(\/|$)/.test(path)) return undefined
  const output = discovery.negotiate(path, {
    accept: exchange.headers.get('accept'),
    userAgent: exchange.headers.get('user-agent'),
    pretty: query.first('pretty'),
    stream: false,
  })
  return discovery.discoveryDocument(path, output, exchange.headers.get('if-none-match'))
}
