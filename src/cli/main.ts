#!/usr/bin/env node
/**
 * The entry of the `causeway` command. The process ends when nothing is left open; only a second signal ends it sooner.
 */
import { systemClock } from '../telemetry/clock.ts'
import { runProgram } from './program.ts'

// Whoever reads our output may go away; that is no reason to stop serving, and nothing can be told any more. A command
// whose output is its purpose looks at each write instead (see print.ts).
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

process.exitCode = await runProgram(process.argv.slice(2), {
  environment: process.env,
  workingDir: process.cwd(),
  stdout: process.stdout,
  stderr: process.stderr,
  clock: systemClock,
  signals: process,
  exit: (code) => process.exit(code),
})
