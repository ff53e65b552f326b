/** Where the real programs are that suites and benches start: `CAUSEWAY_PEERS_BIN`, else the user's cache. */
import { homedir } from 'node:os'
import { join } from 'node:path'

export function peersDirectory(): string {
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  return process.env['CAUSEWAY_PEERS_BIN'] || join(cache, 'causeway-peers', 'bin')
}
