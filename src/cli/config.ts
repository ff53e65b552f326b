/**
 * `causeway config print|check`: what a role would run with, and what is wrong with it, without running it.
 */
import { type Command, Option as CommanderOption } from 'commander'
import { loadConfig } from './config/load.ts'
import type { Role } from './config/option.ts'
import { renderSettings } from './config/render.ts'
import { ROLES } from './config/roles.ts'
import type { CommandContext } from './context.ts'
import { OUTPUT_FORMATS, type OutputFormat } from './output.ts'
import { print } from './print.ts'

interface ConfigFlags {
  readonly role: string
  readonly config?: string
}

const HELP = `
Reads the environment and the file as the role itself would; flags of the role
have no part in it. Secrets are never printed.

Examples:
  causeway config print
  causeway config print -o wide
  causeway config print > up.yaml
  causeway config check --role up --config up.yaml
`

export function addConfigCommand(program: Command, context: CommandContext): void {
  const config = program
    .command('config')
    .description('show or check the configuration of a role')
    .addHelpText('after', HELP)
  const formats = new CommanderOption('-o, --output <format>', 'how to print').choices(OUTPUT_FORMATS).default('yaml')
  withRole(config.command('print').description('print every setting with its value and its source'))
    .addOption(formats)
    .action(async (flags: ConfigFlags & { output: OutputFormat }) => {
      const role = roleNamed(flags.role)
      await print(context, renderSettings(role, load(context, role, flags).settings, flags.output))
    })
  const check = config.command('check').description('report everything that is wrong, at once')
  withRole(check).action(async (flags: ConfigFlags) => {
    const role = roleNamed(flags.role)
    load(context, role, flags)
    await print(context, `ok: the configuration of "causeway ${role.name}" is valid\n`)
  })
}

function withRole(command: Command): Command {
  const names = ROLES.map(({ name }) => name)
  return command
    .addOption(new CommanderOption('--role <role>', 'whose configuration').choices(names).default(names[0]))
    .option('--config <path>', 'the YAML file the role would be given')
}

function load(context: CommandContext, role: Role, { config }: ConfigFlags) {
  const { environment, workingDir } = context
  return loadConfig(role, { flags: config === undefined ? {} : { config }, environment, workingDir })
}

function roleNamed(name: string): Role {
  const role = ROLES.find((candidate) => candidate.name === name)
  if (role === undefined) throw new Error(`no role named ${name}`)
  return role
}
