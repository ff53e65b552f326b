/**
 * The flags of a role, made from its options, for commander.
 */
import { type Command, Option as CommanderOption } from 'commander'
import { configFileVariableOf, flagOf, type Option, type Role, variableOf } from './option.ts'

export function addRoleFlags(command: Command, role: Role): void {
  for (const [key, option] of Object.entries(role.options)) {
    const { placeholder } = option.type
    const flag = placeholder === undefined ? flagOf(key) : `${flagOf(key)} <${placeholder}>`
    const commanderOption = new CommanderOption(flag, describe(role, key, option))
    if (option.type.repeatable === true) commanderOption.argParser(joinRepeated)
    command.addOption(commanderOption)
    if (placeholder === undefined)
      command.addOption(new CommanderOption(`--no-${flagOf(key).slice(2)}`, 'the opposite'))
  }
  command.option('--config <path>', `YAML file with these settings in camelCase [${configFileVariableOf(role)}]`)
}

function describe(role: Role, key: string, option: Option<unknown>): string {
  const fallback = option.default === undefined ? '' : ` (default: ${option.default})`
  return `${option.description}${fallback} [${variableOf(role, key)}]`
}

function joinRepeated(value: string, previous: string | undefined): string {
  return previous === undefined ? value : `${previous},${value}`
}
