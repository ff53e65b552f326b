/**
 * The flags of a role, made from its options, for commander.
 */
import { type Command, Option as CommanderOption } from 'commander'
import { configFileVariableOf, flagOf, type Option, type Role, variableOf } from './option.ts'

export function addRoleFlags(command: Command, role: Role): void {
  for (const [key, option] of Object.entries(role.options)) {
    const { placeholder } = option.type
    command.addOption(flagFor(key, option, describe(role, key, option)))
    if (option.alias !== undefined)
      command.addOption(flagFor(option.alias, option, `another spelling of ${flagOf(key)}`).hideHelp())
    if (placeholder === undefined)
      command.addOption(new CommanderOption(`--no-${flagOf(key).slice(2)}`, 'the opposite'))
  }
  command.option('--config <path>', `YAML file with these settings in camelCase [${configFileVariableOf(role)}]`)
}

function flagFor(key: string, { type }: Option<unknown>, description: string): CommanderOption {
  const flag = type.placeholder === undefined ? flagOf(key) : `${flagOf(key)} <${type.placeholder}>`
  const commanderOption = new CommanderOption(flag, description)
  if (type.repeatable === true) commanderOption.argParser(joinRepeated)
  return commanderOption
}

function describe(role: Role, key: string, option: Option<unknown>): string {
  const fallback = option.default === undefined ? '' : ` (default: ${option.default})`
  return `${option.description}${fallback} [${variableOf(role, key)}]`
}

function joinRepeated(value: string, previous: string | undefined): string {
  return previous === undefined ? value : `${previous},${value}`
}
