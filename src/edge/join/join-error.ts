/** Why a join failed, in three parts that a person needs: at which step, why, and what to do. */

import { IdentityError } from '../../identity/errors.ts'
import { JoinTokenError } from '../../identity/join-token.ts'
import type { HubRefusalCode } from '../../protocol/refusals.ts'
import { ExplainedError } from '../../runtime/explained-error.ts'
import { FileError } from '../../runtime/files/file-error.ts'
import { describeSkew, isNotable } from '../hub/clock-skew.ts'
import { HubError, type HubTlsCode } from '../hub/hub-error.ts'
import { HubUrlError } from '../hub/hub-url.ts'
import { EdgeIdentityError } from '../identity/edge-identity.ts'
import { EdgeRecordError } from '../identity/edge-record.ts'

/** The steps of the join protocol, in the words of the progress that is shown. */
export const JOIN_STEPS = [
  'read the join token',
  "fetch the hub's CA certificate",
  'compare the CA with the token',
  'make a key and a signing request',
  'ask the hub for a certificate',
  'check the certificate and the Kubernetes CA',
  'save the identity',
] as const

export type JoinStep = 1 | 2 | 3 | 4 | 5 | 6 | 7

export class JoinError extends ExplainedError {
  override readonly name = 'JoinError'
  readonly step: JoinStep
  readonly code: string
  readonly why: string
  readonly advice: string

  constructor(step: JoinStep, code: string, why: string, advice: string, options?: ErrorOptions) {
    super(
      `step ${step} of ${JOIN_STEPS.length}, ${JOIN_STEPS[step - 1]}: ${sentence(why)} ${sentence(advice)}`,
      options,
    )
    this.step = step
    this.code = code
    this.why = why
    this.advice = advice
  }
}

/** Some reasons are questions. */
function sentence(text: string): string {
  return /[.?!]$/.test(text) ? text : `${text}.`
}

/** What is known at the moment of a failure. */
export interface JoinContext {
  readonly step: JoinStep
  /** The hubs' addresses as given. */
  readonly hubs: string
  readonly node: string | undefined
  readonly nowMs: number
  /** The hub's clock less ours; absent before the hub has answered anything. */
  readonly skewMs: number | undefined
}

/** Errors of the folders below become a `JoinError`; bugs and aborts pass through as they are. */
export function explainJoinFailure(error: unknown, context: JoinContext): unknown {
  if (error instanceof HubError) return explainHubError(error, withSkewOf(error, context))
  const { step } = context
  if (error instanceof JoinTokenError)
    return new JoinError(step, `token-${error.problem}`, error.message, adviceForTokens(undefined), { cause: error })
  if (error instanceof HubUrlError)
    return new JoinError(step, 'hub-address', error.message, 'Correct --hub and run the same again', { cause: error })
  if (error instanceof EdgeRecordError || error instanceof EdgeIdentityError)
    return new JoinError(step, 'bad-identity', error.message, 'Nothing was changed', { cause: error })
  if (error instanceof IdentityError || error instanceof FileError)
    return new JoinError(step, error.code, error.message, 'Mend that and run the same again', { cause: error })
  return error
}

function withSkewOf({ hubTimeMs }: HubError, context: JoinContext): JoinContext {
  return hubTimeMs === undefined ? context : { ...context, skewMs: hubTimeMs - context.nowMs }
}

function explainHubError(error: HubError, context: JoinContext): JoinError {
  const dateFault = dateCodes.has(error.code) && isNotable(context.skewMs)
  const code = dateFault ? 'clock-skew' : error.code
  const told = error.code.startsWith('token-') ? error.message.replace(newTokenHint, '') : error.message
  const why = dateFault ? `${told}; ${describeSkew(context)}` : told
  return new JoinError(context.step, code, why, dateFault ? setTheClock : adviceFor(error, context), { cause: error })
}

/** What hubs say of tokens that are good no more; the advice says the same, and says it of every hub. */
const newTokenHint = /; get a new one with causeway token create$/

/** Failures that a wrong clock on either side brings about. */
const dateCodes: ReadonlySet<string> = new Set<HubTlsCode | HubRefusalCode>([
  'hub-expired',
  'hub-not-yet-valid',
  'token-expired',
  'token-invalid',
])
const setTheClock = 'Set the clock of this machine, or that of the hub, and run the same again'

function adviceFor({ code }: HubError, { hubs, node }: JoinContext): string {
  switch (code) {
    case 'dns':
      return 'Check the name in --hub and the name servers of this machine'
    case 'refused':
      return 'Nobody listens there: check that the hub runs and that --hub has its port'
    case 'unreachable':
    case 'timeout':
      return `There is no way from here to ${hubs}: check the network, routes and firewalls for that port`
    case 'reset':
    case 'protocol':
    case 'tls':
    case 'answer-too-large':
      return `What answers at ${hubs} does not behave like a hub: check the port, and whether a proxy stands in between`
    case 'hub-untrusted':
      return (
        'Either something on the way opens TLS connections (exempt the hub from it), ' +
        'or several hubs of different clusters answer at that address. The token was not sent'
      )
    case 'hub-wrong-host':
      return 'Use an address that the certificate names, or start the hub with --advertise and the address used here'
    case 'hub-expired':
    case 'hub-not-yet-valid':
      return 'Compare the clocks of this machine and of the hub'
    case 'name-taken':
    case 'node-exists':
      return `If this machine is to be node ${node ?? ''}, use a token made for it: ${tokenCommand(node)}`
    case 'name-invalid':
      return 'Choose another --node-name'
    case 'too-many-failures':
      return 'Wait a minute, then try again with a good token'
    default:
      return code.startsWith('token-')
        ? adviceForTokens(code === 'token-for-other-node' ? node : undefined)
        : 'The log of the hub says more'
  }
}

function adviceForTokens(node: string | undefined): string {
  return `Make a new token and give it whole: ${tokenCommand(node)}`
}

export function tokenCommand(node: string | undefined): string {
  return node === undefined ? 'causeway token create' : `causeway token create --node ${node}`
}
