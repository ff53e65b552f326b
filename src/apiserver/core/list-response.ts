/** Sends a list: a short one at once, a long one as fast as the client reads it, so that nobody's lists fill the memory. */
import type { ListMeta } from '../../kube/objects.ts'
import type { ResponseHeaders } from '../../serving/exchange.ts'
import type { RequestContext } from '../chain/handler.ts'
import { respond, respondStream } from '../serving/respond.ts'
import { servedItem } from './conversion/served-item.ts'
import type { Item } from './item.ts'
import { JsonList, LIST_PIECE_BYTES } from './json-list.ts'
import { isPlainJson, listBody, type OutputContext } from './output.ts'

export async function respondList(
  context: RequestContext,
  headers: ResponseHeaders,
  stored: readonly Item[],
  metadata: ListMeta,
  output: OutputContext,
): Promise<void> {
  const items = stored.map((item) => servedItem(item, output.resource))
  const list = isPlainJson(output) && takesPieces(context) ? new JsonList(items, metadata, output.resource) : undefined
  if (list === undefined || list.bytes <= LIST_PIECE_BYTES) {
    await respond(context, 200, headers, listBody(items, metadata, output))
    return
  }
  const stream = respondStream(context, 200, { ...headers, 'content-length': String(list.bytes) })
  for (const piece of list.pieces()) {
    if (context.signal.aborted) return
    if (!stream.write(piece)) await stream.drained()
  }
  stream.end()
}

/** Compression wants the whole body, and an answer to HEAD has none. */
function takesPieces({ exchange }: RequestContext): boolean {
  return exchange.method === 'GET' && exchange.headers.get('accept-encoding')?.includes('gzip') !== true
}
