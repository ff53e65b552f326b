/** Errors whose message is written for the person at the terminal. Any other is a defect of ours and shows its stack. */

import { SetupError } from '../apiserver/setup-error.ts'
import { StoreOpenError } from '../apiserver/storage/store-errors.ts'
import { EndpointAddressError } from '../edge/certificates/node-pair-checks.ts'
import { NotJoinedError } from '../edge/edge.ts'
import { HubUrlError } from '../edge/hub/hub-url.ts'
import { BroughtIdentityError } from '../edge/identity/brought.ts'
import { EdgeIdentityError } from '../edge/identity/edge-identity.ts'
import { EdgeRecordError } from '../edge/identity/edge-record.ts'
import { JoinError } from '../edge/join/join-error.ts'
import { NatError } from '../edge/network/nat.ts'
import { InterfaceError } from '../edge/network/own-interface.ts'
import { ClusterError } from '../hub/cluster/cluster-error.ts'
import { UnixSocketError } from '../hub/fronts/unix-socket.ts'
import { IdentityError } from '../identity/errors.ts'
import { JoinTokenError } from '../identity/join-token.ts'
import { ControlSocketError } from '../telemetry/control-socket.ts'
import { CommandError } from './failure.ts'

const explained = [
  CommandError,
  SetupError,
  StoreOpenError,
  ControlSocketError,
  ClusterError,
  IdentityError,
  JoinTokenError,
  JoinError,
  NotJoinedError,
  EdgeIdentityError,
  EdgeRecordError,
  BroughtIdentityError,
  HubUrlError,
  InterfaceError,
  NatError,
  EndpointAddressError,
  UnixSocketError,
]

export function isExplained(error: unknown): error is Error {
  return explained.some((kind) => error instanceof kind)
}
