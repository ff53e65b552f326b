/** Sends a list: a short one at once, a long one as fast as the client reads it, so that nobody's lists fill the memory. */

import type { ResponseHeaders } from '../../http/server/exchange.ts'
import type { ListMeta } from '../../kube/objects.ts'
import { notAcceptable } from '../../kube/status/request-errors.ts'
import type { Clock } from '../../runtime/clock.ts'
import { Turns } from '../../runtime/turns.ts'
import { respondPieces } from '../answers/respond-pieces.ts'
import type { Item } from '../objects/item.ts'
import type { RequestContext } from '../request/handler.ts'
import { JsonList } from './json-list.ts'
import { listPieces } from './list-pieces.ts'
import { isPlainJson, type OutputContext } from './output.ts'
import type { RenderAsker, Renderer } from './renderer.ts'

export interface ListResponse {
  readonly headers: ResponseHeaders
  readonly items: readonly Item[]
  readonly metadata: ListMeta
  readonly output: OutputContext
}

export interface ListSurroundings {
  readonly renderer: Renderer
  readonly clock: Clock
}

/** What a list in YAML may be long in JSON: YAML takes ten times as long to make, and whoever has so much can read JSON. */
const MAX_YAML_LIST_BYTES = 8 * 1024 * 1024

/** Fewer items are looked at in no time. */
const fewItems = 100

export async function respondList(
  context: RequestContext,
  { headers, items, metadata, output }: ListResponse,
  { renderer, clock }: ListSurroundings,
): Promise<void> {
  const turns = new Turns(clock)
  const asker = { caller: context.user.name, signal: context.signal }
  // Many lists may be asked for in one breath: those that are long begin in line.
  if (items.length > fewItems) await turns.next()
  const parts = { renderer, turns, asker }
  if (output.representation.encoding === 'yaml') checkYaml(items, output)
  if (!isPlainJson(output)) {
    await respondPieces(context, headers, listPieces(items, metadata, output, parts), turns)
    return
  }
  const list = new JsonList(await servedItems(items, output, parts), metadata, output.resource)
  await respondPieces(context, headers, list.pieces(), turns, list.bytes)
}

function checkYaml(items: readonly Item[], { representation }: OutputContext): void {
  const showsObjects =
    representation.as === 'Object' || (representation.as === 'Table' && representation.includeObject === 'Object')
  const bytes = showsObjects ? items.reduce((sum, { json }) => sum + json.length, 0) : 0
  if (bytes <= MAX_YAML_LIST_BYTES) return
  const why = `the list has ${bytes} bytes, and at most ${MAX_YAML_LIST_BYTES} are sent as application/yaml`
  throw notAcceptable(`${why}: ask for application/json, or for less by limit`)
}

async function servedItems(
  stored: readonly Item[],
  output: OutputContext,
  { renderer, turns, asker }: { renderer: Renderer; turns: Turns; asker: RenderAsker },
): Promise<readonly Item[]> {
  const { apiVersion, storedApiVersion } = output.resource
  if (apiVersion === storedApiVersion) return stored
  const served: Item[] = []
  for (const each of stored) {
    if (turns.isOver) await turns.next()
    served.push((await renderer.ready(each, output, asker)).item)
  }
  return served
}
