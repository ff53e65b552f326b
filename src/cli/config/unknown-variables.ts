/**
 * Finds environment variables that look like settings of ours and are none. Every name that starts with `CAUSEWAY_` is
 * ours, save what Kubernetes itself tells pods about a Service that happens to be called causeway.
 */
import { suggestion } from '../nearest.ts'
import { configFileVariableOf, type Role, VARIABLE_PREFIX, variableOf, variablePrefixOf } from './option.ts'
import { ROLES } from './roles.ts'

/** What the test suites and benches of this project take; whoever runs them also runs the command. */
const ofTheTests = new Set(['CAUSEWAY_LONG', 'CAUSEWAY_PEERS_BIN', 'CAUSEWAY_REWRITE'])

/** One sentence for each. A variable that sets another role is none of this one's business, as long as that role knows it. */
export function unknownVariables(role: Role, environment: Readonly<Record<string, string | undefined>>): string[] {
  const roles = [role, ...ROLES.filter(({ name }) => name !== role.name)]
  const known = new Set(roles.flatMap(variablesOf))
  const problems: string[] = []
  for (const [name, value = ''] of Object.entries(environment)) {
    if (!name.startsWith(VARIABLE_PREFIX) || value === '' || known.has(name)) continue
    if (ofTheTests.has(name) || isServiceLink(name, value)) continue
    const meant = roles.find((candidate) => name.startsWith(variablePrefixOf(candidate))) ?? role
    problems.push(`${name}: unknown environment variable${suggestion(name, variablesOf(meant))}`)
  }
  return problems
}

function variablesOf(role: Role): string[] {
  return [...Object.keys(role.options).map((key) => variableOf(role, key)), configFileVariableOf(role)]
}

/** `X_SERVICE_HOST`, `X_SERVICE_PORT_HTTPS`, `X_PORT_443_TCP_ADDR` and so on; `X_PORT` alone could be a setting. */
function isServiceLink(name: string, value: string): boolean {
  if (name.endsWith('_PORT') && /^(?:tcp|udp|sctp):\/\//.test(value)) return true
  return /_SERVICE_HOST$|_SERVICE_PORT(?:_[A-Z0-9_]+)?$|_PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?$/.test(name)
}
