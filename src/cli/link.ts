/**
 * `causeway link cut|restore|status`: pulls the cable of an edge of `causeway up` and puts it back, to see what an edge does
 * without its link.
 */
import { resolve } from 'node:path'
import { type Command, Option as CommanderOption } from 'commander'
import * as v from 'valibot'
import { nodeNameProblem } from '../identity/node-name.ts'
import { MAX_CABLE_DELAY_MS } from '../network/cable/cable.ts'
import { readValue } from './config/read-value.ts'
import { duration } from './config/values.ts'
import type { CommandContext } from './context.ts'
import { askRole, tellRole } from './control-client.ts'
import { CommandError, UsageError } from './failure.ts'
import { OUTPUT_FORMATS, type OutputFormat, renderList } from './output.ts'
import { print } from './print.ts'
import { type CableEntry, type CableWords, cableEntry } from './up-cables.ts'

const HELP = `
Works on the edges of a running "causeway up", named edge-1, edge-2 and so on,
and needs no rights beyond those of the user who runs it.

A cut swallows: what either side sends goes nowhere and nobody is told, and a
new connection gets no answer. The link notices when its pings stay unanswered,
within 30 s, as it would of a real cable. "restore" puts the cable
back: connections that neither side has given up go on with every byte, as TCP
does after a short cut; the others end, and the edge connects anew with its
usual waits.

With --after it happens that much later, in the process of "up": the command
itself returns at once, so a script can go on and be in the middle of something.
A later command takes the place of what has not happened yet.

--delay makes every byte take that much longer in each direction, so a round
trip takes twice as much longer; without it "restore" leaves no delay.

Examples:
  causeway link cut edge-1
  causeway link restore edge-1
  causeway link cut edge-1 --after 5s && kubectl get pods --watch
  causeway link restore edge-1 --delay 100ms
  causeway link status -o json
`

interface Flags {
  readonly dataDir: string
}

export function addLinkCommand(program: Command, context: CommandContext): void {
  const link = program
    .command('link')
    .description('pull the cable of an edge of "up", or put it back')
    .addHelpText('after', HELP)
  withFolder(link.command('cut').description('from now on nothing passes between that edge and the hub'))
    .argument('<node>', 'name of the edge')
    .option('--after <duration>', 'when, counted from now')
    .action(async (node: string, flags: Flags & { after?: string }) => {
      await change(context, flags, [node, 'cut', afterOf(flags), '0'])
    })
  withFolder(link.command('restore').description('put the cable back'))
    .argument('<node>', 'name of the edge')
    .option('--after <duration>', 'when, counted from now')
    .option('--delay <duration>', 'what every byte takes longer, in each direction')
    .action(async (node: string, flags: Flags & { after?: string; delay?: string }) => {
      await change(context, flags, [node, 'whole', afterOf(flags), delayOf(flags)])
    })
  withFolder(link.command('status').description('show the cables, and what the links make of them'))
    .argument('[node]', 'name of the edge; all without it')
    .addOption(new CommanderOption('-o, --output <format>', 'how to print').choices(OUTPUT_FORMATS))
    .action(async (node: string | undefined, flags: Flags & { output?: OutputFormat }) => {
      await show(context, node, flags)
    })
}

function withFolder(command: Command): Command {
  return command.option('--data-dir <path>', 'data folder of "causeway up"', '.causeway')
}

function afterOf({ after = '0s' }: { readonly after?: string }): string {
  return String(readValue(duration, after, '--after'))
}

function delayOf({ delay = '0s' }: { readonly delay?: string }): string {
  const delayMs = readValue(duration, delay, '--delay')
  if (delayMs > MAX_CABLE_DELAY_MS) throw new UsageError(`--delay: at most ${MAX_CABLE_DELAY_MS / 1000}s`)
  return String(delayMs)
}

async function change(context: CommandContext, flags: Flags, words: CableWords): Promise<void> {
  const problem = nodeNameProblem(words[0])
  if (problem !== undefined) throw new UsageError(problem)
  const dataDir = resolve(context.workingDir, flags.dataDir)
  const answer = await tellRole(dataDir, '/v1/link', words)
  if (answer === undefined) throw notUp(dataDir)
  await print(context, `${sentence(v.parse(cableEntry, answer))}\n`)
}

function sentence({ node, cable, delayMs, next }: CableEntry): string {
  if (next !== undefined) return `${node}: ${wordOf[next.cable]}${delayed(next.delayMs)} at ${next.at}`
  return `${node}: ${wordOf[cable]}${delayed(delayMs)}`
}

const wordOf = { whole: 'restored', cut: 'cut' } as const

function delayed(delayMs: number): string {
  return delayMs === 0 ? '' : `, with a delay of ${delayMs}ms each way`
}

async function show(
  context: CommandContext,
  node: string | undefined,
  { dataDir: folder, output }: Flags & { readonly output?: OutputFormat },
): Promise<void> {
  const dataDir = resolve(context.workingDir, folder)
  const answer = await askRole(dataDir, '/v1/link')
  if (answer === undefined) throw notUp(dataDir)
  const all = v.parse(v.array(cableEntry), answer)
  const found = node === undefined ? all : all.filter((entry) => entry.node === node)
  if (found.length === 0)
    throw new CommandError(`there is no edge ${node} here; there are ${all.map((entry) => entry.node).join(', ')}`)
  await print(context, renderList(found.map(flat), columns, output))
}

const columns = ['node', 'cable', 'since', 'delay', 'link', 'next'] as const

function flat({ delayMs, next, ...rest }: CableEntry) {
  const change = next && `${next.cable} at ${next.at}${next.delayMs === 0 ? '' : `, ${next.delayMs}ms`}`
  return { ...rest, delay: `${delayMs}ms`, next: change }
}

function notUp(dataDir: string): CommandError {
  return new CommandError(
    `the process that uses ${dataDir} is not "causeway up": only there the cables of edges can be pulled; on a real edge, ` +
      'block its connections to the hub with a firewall',
  )
}
