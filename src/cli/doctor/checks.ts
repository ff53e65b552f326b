/** All checks, in the order in which one fault explains the next. */
import { checkApiServer } from './api-server-check.ts'
import { checkEndpointAddress, checkEndpointPort, checkLink, checkServingCertificate } from './endpoint-checks.ts'
import { checkCertificateDates, checkDataFolder, checkIdentity, checkKeyModes } from './file-checks.ts'
import { type Check, type DoctorReaders, type Finding, fail, isForbidden, warn } from './finding.ts'
import { checkKubeProxyToken } from './kube-proxy-check.ts'
import { checkClock, checkServiceAddress, checkTools } from './machine-checks.ts'

const checks: readonly Check[] = [
  { name: 'data folder', run: checkDataFolder },
  { name: 'identity', run: checkIdentity },
  { name: 'key modes', run: checkKeyModes },
  { name: 'certificates', run: checkCertificateDates },
  { name: 'clock', run: checkClock },
  { name: 'link', run: checkLink },
  { name: 'serving certificate', run: checkServingCertificate },
  { name: 'endpoint address', run: checkEndpointAddress },
  { name: 'endpoint port', run: checkEndpointPort },
  { name: 'API server through the tunnel', run: checkApiServer },
  { name: 'service address', run: checkServiceAddress },
  { name: 'kube-proxy token', run: checkKubeProxyToken },
  { name: 'tools', run: checkTools },
]

export type NamedFinding = Finding & { readonly check: string }

/**
 * One after the other: what is printed should not depend on what was faster. A check that breaks is a failure of its own. In
 * what is no folder of an edge there is nothing more to look for.
 */
export async function runChecks(readers: DoctorReaders): Promise<readonly NamedFinding[]> {
  const findings: NamedFinding[] = []
  for (const { name, run } of checks) {
    const { isWrongFolder = false, ...finding } = await run(readers).catch(notChecked)
    findings.push({ check: name, ...finding })
    if (isWrongFolder) break
  }
  return findings
}

function notChecked(error: unknown): Finding {
  const { message } = error as Error
  if (isForbidden(error))
    return warn(`not checked: ${message}`, 'run the doctor as root, or as the user who runs the edge')
  return fail(`could not be checked: ${message}`, 'see the checks before')
}

const nameColumns = Math.max(...checks.map(({ name }) => name.length)) + 2

export function renderFindings(findings: readonly NamedFinding[]): string {
  const lines = findings.flatMap(({ check, state, message, advice }) => {
    const advised = advice === undefined ? [] : [`${' '.repeat(6 + nameColumns)}-> ${advice}`]
    return [`${state.padEnd(6)}${check.padEnd(nameColumns)}${message}`, ...advised]
  })
  const count = (state: Finding['state']): number => findings.filter((finding) => finding.state === state).length
  return `${lines.join('\n')}\n\n${count('ok')} ok, ${count('warn')} to look at, ${count('fail')} failed\n`
}
