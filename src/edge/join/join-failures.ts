/** Failures that the join itself finds, each with what to do about it. */

import { describeSkew, isNotable } from '../hub/clock-skew.ts'
import type { OwnCertificateProblem } from '../identity/own-certificate.ts'
import { type JoinContext, JoinError, tokenCommand } from './join-error.ts'
import type { TokenSource } from './token-source.ts'

export function noToken(token: TokenSource): JoinError {
  const why = `there is no token file ${token.kind === 'file' ? token.path : ''}`
  return new JoinError(1, 'token-missing', why, `Make one: ${tokenCommand(undefined)}`)
}

export function otherNode(held: string, wanted: string | undefined): JoinError {
  const why = `this data folder holds the identity of node ${held}, not of ${wanted ?? 'another'}`
  return new JoinError(1, 'other-node', why, 'Use another --data-dir, or remove this one if that node is gone')
}

export function wrongHash(hubs: string, found: string, wanted: string): JoinError {
  const why = `${hubs} presents the CA ${found}, but the token is for ${wanted}`
  const advice =
    'Either the token is from another cluster (make one with the kubeconfig of this one), ' +
    "or somebody answers in the hub's place. The token was not sent"
  return new JoinError(3, 'wrong-hash', why, advice)
}

export function badCertificate({ reason, message }: OwnCertificateProblem, context: JoinContext): JoinError {
  const isClock = (reason === 'not-yet-valid' || reason === 'expired') && isNotable(context.skewMs)
  return isClock
    ? new JoinError(6, 'clock-skew', `${message}; ${describeSkew(context)}`, 'Set the clock of this machine')
    : new JoinError(6, 'bad-certificate', message, 'The hub signed something else than it should; see its log')
}

export function wrongKubernetesCa(found: string, wanted: string): JoinError {
  const why = `the hub presents a Kubernetes CA with the hash ${found}, but the token names ${wanted}`
  const advice =
    `If the CA of the cluster was changed since the token was made, make a new one (${tokenCommand(undefined)}); ` +
    'if not, do not trust this hub'
  return new JoinError(6, 'wrong-kubernetes-ca', why, advice)
}
