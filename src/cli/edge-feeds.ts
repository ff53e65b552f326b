/** `causeway edge feeds`: what a running edge keeps for when its link is down, collection by collection. */
import { resolve } from 'node:path'
import { type Command, Option as CommanderOption } from 'commander'
import * as v from 'valibot'
import type { FeedSummary } from '../edge/replica/replica-status.ts'
import { edgeRole } from './config/edge.ts'
import { variableOf } from './config/option.ts'
import type { CommandContext } from './context.ts'
import { askRole } from './control-client.ts'
import { CommandError } from './failure.ts'
import { OUTPUT_FORMATS, type OutputFormat, renderList } from './output.ts'
import { print } from './print.ts'

const HELP = `
Asks the running process through the socket in its data folder, which only the
user who runs it, and root, may use. With the folder of "causeway up" it shows
the feeds of all its edges.

A feed is one collection as somebody on the node has read it: a resource, in one
namespace or all, behind selectors. Its state:
  following  a watch of the API server keeps it up to date
  resting    nobody reads it now; it stays as it was
  starting   its list is being fetched
  failing    the API server cannot be asked; it stays as it was
CURRENT is when it was last known to be what the API server has. KEPT is where it
would be found after a restart: on disk, encrypted on disk, or in memory alone.

Examples:
  causeway edge feeds
  causeway edge feeds --data-dir .causeway -o wide
  causeway edge feeds -o json
`

const feedEntry = v.looseObject({ node: v.string(), resource: v.string(), state: v.string() })

type FeedEntry = { readonly node: string } & Omit<FeedSummary, 'labelSelector' | 'fieldSelector'> & {
    readonly selector: string | undefined
  }

/** As the control socket tells of them. */
export function describeFeeds(node: string, feeds: readonly FeedSummary[]): FeedEntry[] {
  return feeds.map(({ labelSelector, fieldSelector, ...rest }) => {
    const selector = [labelSelector, fieldSelector].filter((text) => text !== undefined).join(' ')
    return { node, selector: selector || undefined, ...rest }
  })
}

const columns = ['resource', 'namespace', 'selector', 'objects', 'bytes', 'state', 'readers', 'current', 'kept']

export function addEdgeFeedsCommand(edge: Command, context: CommandContext): void {
  edge
    .command('feeds')
    .description('show what a running edge keeps for when its link is down')
    .option('--data-dir <path>', 'its data folder')
    .addOption(new CommanderOption('-o, --output <format>', 'how to print').choices(OUTPUT_FORMATS))
    .addHelpText('after', HELP)
    .action(async (_flags: unknown, command: Command) => {
      // "edge" has this flag too, and takes one after "feeds" for its own.
      const { dataDir, output } = command.optsWithGlobals<{ dataDir?: string; output?: OutputFormat }>()
      await showFeeds(context, dataDir ?? usualFolder(context), output)
    })
}

/** The data folder that "causeway edge" itself would take. */
function usualFolder({ environment }: CommandContext): string {
  return environment[variableOf(edgeRole, 'dataDir')] || (edgeRole.options.dataDir.default ?? '')
}

async function showFeeds(context: CommandContext, folder: string, output: OutputFormat | undefined): Promise<void> {
  const dataDir = resolve(context.workingDir, folder)
  const answer = await askRole(dataDir, '/v1/feeds')
  if (answer === undefined) throw new CommandError(`the process that uses ${dataDir} is no edge, and keeps nothing`)
  const feeds = v.parse(v.array(feedEntry), answer)
  const isForPeople = output === undefined || output === 'wide'
  if (feeds.length === 0 && isForPeople) {
    await print(context, 'nothing is kept here yet: nobody has read anything, or --feeds is off\n')
    return
  }
  const isOfSeveral = new Set(feeds.map(({ node }) => node)).size > 1
  await print(
    context,
    renderList(isForPeople ? feeds.map(shown) : feeds, isOfSeveral ? ['node', ...columns] : columns, output),
  )
}

/** A feed that follows is current at any moment. */
function shown(entry: v.InferOutput<typeof feedEntry>): Record<string, unknown> {
  const { currentAt: current, ...rest } = entry
  return { ...rest, current: entry.state === 'following' ? 'now' : current }
}
