/** The machine around the edge: its clock, its tools, and who leads the address of the API service to the endpoint. */

import { describeSkew, isNotable } from '../../edge/hub/clock-skew.ts'
import { readEdgeRecord } from '../../edge/identity/edge-record.ts'
import { natTableName } from '../../edge/network/nat-plan.ts'
import { type DoctorReaders, type Finding, fail, ok, ToolError, unlessForbidden, warn } from './finding.ts'

export async function checkClock(readers: DoctorReaders): Promise<Finding> {
  const hubs = await knownHubs(readers)
  if (hubs.length === 0) return warn('no hub is known whose clock could be compared', 'see the check of the identity')
  try {
    const beforeMs = readers.nowMs()
    const hubMs = await readers.hubTimeMs(hubs)
    if (hubMs === undefined) return warn('the hub does not tell its time', 'see that --hub leads to a hub')
    // The answer is of some moment in between, to the second.
    const nowMs = (beforeMs + readers.nowMs()) / 2
    const skewMs = hubMs - nowMs
    if (isNotable(skewMs))
      return fail(describeSkew({ nowMs, skewMs }), 'set the clock; timedatectl set-ntp true keeps it')
    return ok(`within ${Math.max(1, Math.ceil(Math.abs(skewMs) / 1_000))} s of the hub's`)
  } catch (error) {
    return warn(`the hub could not be asked: ${(error as Error).message}`, 'check the network towards the hub')
  }
}

async function knownHubs({ read, dataDir }: DoctorReaders): Promise<readonly string[]> {
  try {
    const record = await read('edge.json')
    return record === undefined ? [] : readEdgeRecord(record.toString('utf8'), dataDir).hubs
  } catch (error) {
    return unlessForbidden(error) ?? []
  }
}

/** What each tool is for: without it the edge runs, and cannot do that. */
const tools = [
  { program: 'ip', args: ['-V'], purpose: 'give this machine the address of the endpoint', from: 'iproute2' },
  { program: 'nft', args: ['--version'], purpose: '--nat', from: 'nftables' },
] as const

export async function checkTools({ runTool }: DoctorReaders): Promise<Finding> {
  const missing: (typeof tools)[number][] = []
  for (const tool of tools) {
    const isThere = await runTool(tool.program, tool.args).then(
      () => true,
      (error: unknown) => !(error instanceof ToolError && error.failure === 'missing'),
    )
    if (!isThere) missing.push(tool)
  }
  if (missing.length === 0) return ok(tools.map(({ program }) => program).join(', '))
  const lacks = missing.map(({ program, purpose }) => `no ${program}, needed to ${purpose}`.replace('to --', 'for --'))
  return warn(lacks.join('; '), `install ${missing.map(({ from }) => from).join(' and ')}, if that is wanted`)
}

/** Only hints: pods may also get the endpoint by their environment, and other networks bring their own translation. */
export async function checkServiceAddress(readers: DoctorReaders): Promise<Finding> {
  const found: string[] = []
  let isForbidden = false
  for (const look of [lookAtNftables, lookAtIptables]) {
    try {
      found.push(...(await look(readers)))
    } catch (error) {
      isForbidden ||= error instanceof ToolError && error.failure === 'not-permitted'
    }
  }
  if (readers.hasInterface('kube-ipvs0')) found.push('kube-proxy in ipvs mode')
  if (found.length > 0) return ok(`the address of the service is led on by ${found.join(', ')}`)
  if (isForbidden) return warn('this user may not look at the rules of the machine', 'run the doctor as root')
  return warn(
    'nothing here leads the address of the service default/kubernetes on: neither kube-proxy nor --nat has rules',
    'run kube-proxy with the kubeconfig that --write-kubelet-kubeconfig makes, or the edge with --nat; ' +
      'pods that take the endpoint from their environment need neither',
  )
}

async function lookAtNftables({ runTool, dataDir }: DoctorReaders): Promise<string[]> {
  const lines = (await runTool('nft', ['list', 'tables'])).split('\n').map((line) => line.trim())
  return [
    ...(lines.includes(`table inet ${natTableName(dataDir)}`) ? ['--nat'] : []),
    ...(lines.some((line) => /^table ip6? kube-proxy$/.test(line)) ? ['kube-proxy in nftables mode'] : []),
  ]
}

async function lookAtIptables({ runTool }: DoctorReaders): Promise<string[]> {
  const rules = await runTool('iptables', ['-w', '-t', 'nat', '-S', 'KUBE-SERVICES'])
  return rules.includes('-N KUBE-SERVICES') ? ['kube-proxy in iptables mode'] : []
}
