/** Namespaces and ServiceAccounts. */
import { labelKeyBreaches } from '../../../kube/selectors/names.ts'
import { type FieldError, invalidField } from '../../../kube/status/field-error.ts'
import { checkName } from '../checks.ts'
import { copyField, ensureStruct, type Fields, has, struct, structs, text, texts } from '../fields.ts'
import { checkFinalizerIsQualified } from '../metadata.ts'
import { dnsLabel } from '../names.ts'
import type { KindRules } from '../rules.ts'

/** Holds a namespace until its contents are gone. */
const kubernetesFinalizer = 'kubernetes'

export const NAMESPACE_RULES: KindRules = {
  name: dnsLabel,
  prepareForCreate(namespace) {
    const spec = ensureStruct(namespace, 'spec')
    const finalizers = texts(spec, 'finalizers')
    if (!finalizers.includes(kubernetesFinalizer)) spec['finalizers'] = [...finalizers, kubernetesFinalizer]
    namespace['status'] = { phase: 'Active' }
  },
  prepareForUpdate(namespace, old, { subresource }) {
    if (subresource === 'finalize') return
    copyField(ensureStruct(namespace, 'spec'), struct(old, 'spec') ?? {}, 'finalizers')
  },
  check: (namespace) =>
    texts(struct(namespace, 'spec'), 'finalizers').flatMap((finalizer) => checkFinalizer(finalizer, 'spec.finalizers')),
  checkUpdate: (namespace, _old, { subresource }) =>
    subresource === 'finalize'
      ? texts(struct(namespace, 'spec'), 'finalizers').flatMap((finalizer, index) =>
          checkFinalizer(finalizer, `spec.finalizers[${index}]`),
        )
      : [],
  checkStatusUpdate: checkPhase,
}

function checkFinalizer(finalizer: string, path: string): FieldError[] {
  return [...checkName(finalizer, path, labelKeyBreaches), ...checkFinalizerIsQualified(finalizer, path)]
}

function checkPhase(namespace: Fields): FieldError[] {
  const deleted = has(struct(namespace, 'metadata'), 'deletionTimestamp')
  const phase = text(struct(namespace, 'status'), 'phase')
  const detail = deleted
    ? "may only be 'Terminating' if `deletionTimestamp` is not empty"
    : "may only be 'Active' if `deletionTimestamp` is empty"
  return phase === (deleted ? 'Terminating' : 'Active') ? [] : [invalidField('status.Phase', phase, detail)]
}

export const SERVICE_ACCOUNT_RULES: KindRules = {
  checksMetadataAgain: true,
  prepareForCreate: keepSecretNames,
  prepareForUpdate: keepSecretNames,
}

/** A reference to a secret is its name; the namespace is that of the account. */
function keepSecretNames(account: Fields): void {
  const secrets = structs(account, 'secrets')
  if (secrets.length > 0) account['secrets'] = secrets.map((secret) => ({ name: text(secret, 'name') }))
}
