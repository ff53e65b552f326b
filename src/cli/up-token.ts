/**
 * The join token of an edge of `causeway up`: made only where the edge has to join. An edge that the hub knows starts with what
 * is in its folder, or every start would leave a good token behind that nobody ever uses.
 */
import { join } from 'node:path'
import { parseHubUrls } from '../edge/hub/hub-url.ts'
import { EdgeFiles } from '../edge/identity/edge-files.ts'
import { judgeExisting } from '../edge/join/existing-identity.ts'
import type { TokenSource } from '../edge/join/token-source.ts'
import type { Clock } from '../runtime/clock.ts'

export interface UpTokenOptions {
  readonly dataDir: string
  readonly hub: string
  readonly node: string
  readonly clock: Clock
  readonly mint: () => Promise<string>
}

/** To be called while the folder is held. */
export async function upToken(options: UpTokenOptions): Promise<TokenSource> {
  // No file of that name is ever made: to a join it is a token that an earlier join has used and removed.
  if (await isJoined(options)) return { kind: 'file', path: join(options.dataDir, 'join.token') }
  return { kind: 'text', text: await options.mint() }
}

/** Whether the node needs no token. What is damaged, forgotten or of another cluster counts as not joined: with a token the join mends it, or says why not. */
async function isJoined({ dataDir, hub, node, clock }: UpTokenOptions): Promise<boolean> {
  const hubs = parseHubUrls([hub])
  try {
    const asked = { files: new EdgeFiles(dataDir), hubs, node, clock, caSha256: undefined }
    return (await judgeExisting(asked)).kind === 'good'
  } catch {
    return false
  }
}
