/** Who may do what, and the certificates that prove who it is. */
import type { KubeObject } from '../objects.ts'
import { formatLabels, NONE, textColumn } from './common-cells.ts'
import { humanDuration } from './human-duration.ts'
import {
  AGE_COLUMN,
  type Cell,
  type Column,
  column,
  layout,
  NAME_COLUMN,
  type TableLayout,
  wideColumn,
} from './layout.ts'
import { at, integerAt, listAt, mapAt, textAt } from './paths.ts'

function subjectColumn(name: string, description: string, kind: string): Column {
  return wideColumn(name, description, (object) =>
    listAt(object, 'subjects')
      .filter((subject) => textAt(subject, 'kind') === kind)
      .map((subject) => subjectName(subject, kind))
      .join(', '),
  )
}

function subjectName(subject: unknown, kind: string): string {
  const name = textAt(subject, 'name')
  return kind === 'ServiceAccount' ? `${textAt(subject, 'namespace')}/${name}` : name
}

const roleBinding = layout([
  NAME_COLUMN,
  column(
    'Role',
    'Role that is granted.',
    (object) => `${textAt(object, 'roleRef', 'kind')}/${textAt(object, 'roleRef', 'name')}`,
  ),
  AGE_COLUMN,
  subjectColumn('Users', 'Users it is granted to.', 'User'),
  subjectColumn('Groups', 'Groups it is granted to.', 'Group'),
  subjectColumn('ServiceAccounts', 'Service accounts it is granted to.', 'ServiceAccount'),
])

const signerColumn = textColumn('SignerName', 'Signer that is asked.', ['spec', 'signerName'], NONE)

const certificateSigningRequest = layout([
  NAME_COLUMN,
  AGE_COLUMN,
  signerColumn,
  textColumn('Requestor', 'User who asks.', ['spec', 'username']),
  column('RequestedDuration', 'Life that is asked for.', requestedDuration),
  column('Condition', 'What became of it.', requestCondition),
])

function requestedDuration(object: KubeObject): Cell {
  if (at(object, 'spec', 'expirationSeconds') === undefined) return NONE
  return humanDuration(integerAt(object, 'spec', 'expirationSeconds') * 1000)
}

/** A condition counts by its presence. A denial outranks an approval. */
function requestCondition(object: KubeObject): Cell {
  const types = listAt(object, 'status', 'conditions').map((condition) => textAt(condition, 'type'))
  const verdict = ['Denied', 'Approved'].find((type) => types.includes(type)) ?? 'Pending'
  const failed = types.includes('Failed') ? ',Failed' : ''
  return `${verdict}${failed}${textAt(object, 'status', 'certificate') === '' ? '' : ',Issued'}`
}

const podCertificateRequest = layout([
  NAME_COLUMN,
  textColumn('PodName', 'Pod it is for.', ['spec', 'podName']),
  textColumn('ServiceAccountName', 'Service account of the pod.', ['spec', 'serviceAccountName']),
  textColumn('NodeName', 'Node of the pod.', ['spec', 'nodeName']),
  textColumn('SignerName', 'Signer that is asked.', ['spec', 'signerName']),
  column('State', 'What became of it.', podRequestState),
  column('UnverifiedUserAnnotations', 'What the pod adds for the signer.', (object) =>
    formatLabels(mapAt(object, 'spec', 'unverifiedUserAnnotations')),
  ),
])

/** Conditions that end a request exclude one another; should several be there, the last one counts. */
function podRequestState(object: KubeObject): Cell {
  const types = listAt(object, 'status', 'conditions').map((condition) => textAt(condition, 'type'))
  return types.findLast((type) => ['Issued', 'Denied', 'Failed'].includes(type)) ?? 'Pending'
}

export const ACCESS_LAYOUTS: Readonly<Record<string, TableLayout>> = {
  'RoleBinding.rbac.authorization.k8s.io': roleBinding,
  'ClusterRoleBinding.rbac.authorization.k8s.io': roleBinding,
  'CertificateSigningRequest.certificates.k8s.io': certificateSigningRequest,
  'ClusterTrustBundle.certificates.k8s.io': layout([NAME_COLUMN, signerColumn]),
  'PodCertificateRequest.certificates.k8s.io': podCertificateRequest,
}
