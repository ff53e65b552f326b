/**
 * `causeway version`: what is running, for people and for bug reports.
 */
import { type Command, Option as CommanderOption } from 'commander'
import { stringify } from 'yaml'
import { kubernetesVersion } from '../kube/schema/schema.ts'
import { BUILD } from './build.ts'
import type { CommandContext } from './context.ts'
import { OUTPUT_FORMATS, type OutputFormat, renderTable } from './output.ts'
import { print } from './print.ts'

export function addVersionCommand(program: Command, context: CommandContext): void {
  program
    .command('version')
    .description('print the version of Causeway and of what it runs on')
    .addOption(new CommanderOption('-o, --output <format>', 'how to print').choices(OUTPUT_FORMATS))
    .action(async ({ output }: { output?: OutputFormat }) => {
      await print(context, render(output))
    })
}

function render(output: OutputFormat | undefined): string {
  const facts = {
    version: BUILD.version,
    /** The release whose API this version speaks. */
    kubernetes: kubernetesVersion(),
    node: process.versions.node,
    platform: `${process.platform}-${process.arch}`,
  }
  if (output === 'wide') return renderTable(['VERSION', 'KUBERNETES', 'NODE', 'PLATFORM'], [Object.values(facts)])
  if (output === 'yaml') return stringify(facts)
  if (output === 'json') return `${JSON.stringify(facts, null, 2)}\n`
  return `causeway ${facts.version}, speaks Kubernetes ${facts.kubernetes}\n`
}
