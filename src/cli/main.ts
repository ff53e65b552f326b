#!/usr/bin/env node
/**
 * The entry of the `causeway` command. The process ends when its command has, whatever is left open; only a second signal ends it
 * sooner.
 */
import { systemClock } from '../runtime/clock.ts'
import type { CommandContext } from './context.ts'
import { endProcess } from './ending.ts'
import { runProgram } from './program.ts'
import { holdYoungGeneration, letYoungGenerationGrow } from './young-generation.ts'

// Whoever reads our output may go away; that is no reason to stop serving, and nothing can be told any more. A command
// whose output is its purpose looks at each write instead (see print.ts).
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

const args = process.argv.slice(2)
// Before its code is loaded: a node has little memory to give, and other roles are started on machines that have more.
if (args[0] === 'edge') holdYoungGeneration()

const context: CommandContext = {
  environment: process.env,
  workingDir: process.cwd(),
  stdout: process.stdout,
  stderr: process.stderr,
  clock: systemClock,
  signals: process,
  exit: (code) => process.exit(code),
  onReady: letYoungGenerationGrow,
}
await endProcess(await runProgram(args, context), context)
