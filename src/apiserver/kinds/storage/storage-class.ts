/** StorageClasses and CSIDrivers. */
import { labelKeyBreaches } from '../../../kube/selectors/names.ts'
import { type FieldError, invalidField, requiredField, tooLongField } from '../../../kube/status/field-error.ts'
import { checkImmutable, checkName, checkSupported } from '../checks.ts'
import { type Fields, struct, text, textMap, texts } from '../fields.ts'
import type { KindRules } from '../rules.ts'

/** Number of parameters, and bytes of all of them together. */
const MAX_PARAMETERS = 512
const MAX_PARAMETER_BYTES = 256 * 1024

export const STORAGE_CLASS_RULES: KindRules = {
  checksMetadataAgain: true,
  check: checkStorageClass,
  checkUpdate: (object, old) => [
    ...checkStorageClass(object),
    ...['parameters', 'provisioner', 'reclaimPolicy', 'volumeBindingMode'].flatMap((name) =>
      checkImmutable(object[name], old[name], name),
    ),
  ],
}

export const CSI_DRIVER_RULES: KindRules = {
  generationOf: ['spec'],
  initialGeneration: 0,
  allowsUnconditionalUpdate: false,
  check: checkCsiDriver,
  checkUpdate(object, old) {
    const [spec, before] = [struct(object, 'spec'), struct(old, 'spec')]
    return [
      ...checkCsiDriver(object),
      ...checkImmutable(spec?.['attachRequired'], before?.['attachRequired'], 'spec.attachedRequired'),
      ...checkImmutable(spec?.['volumeLifecycleModes'], before?.['volumeLifecycleModes'], 'spec.volumeLifecycleModes'),
    ]
  },
}

function checkCsiDriver(object: Fields): FieldError[] {
  const spec = struct(object, 'spec')
  const policies = ['File', 'None', 'ReadWriteOnceWithFSType']
  return [
    ...checkSupported(text(spec, 'fsGroupPolicy'), 'spec.fsGroupPolicy', policies),
    ...texts(spec, 'volumeLifecycleModes').flatMap((mode) =>
      checkSupported(mode, 'spec.volumeLifecycleModes', ['Persistent', 'Ephemeral']),
    ),
  ]
}

function checkStorageClass(object: Fields): FieldError[] {
  const provisioner = text(object, 'provisioner')
  return [
    ...(provisioner === ''
      ? [requiredField('provisioner')]
      : checkName(provisioner.toLowerCase(), 'provisioner', labelKeyBreaches)),
    ...checkParameters(textMap(object, 'parameters')),
    ...checkSupported(text(object, 'reclaimPolicy') || 'Delete', 'reclaimPolicy', ['Delete', 'Retain']),
    ...checkSupported(text(object, 'volumeBindingMode'), 'volumeBindingMode', ['Immediate', 'WaitForFirstConsumer']),
  ]
}

function checkParameters(parameters: Readonly<Record<string, string>>): FieldError[] {
  const entries = Object.entries(parameters)
  if (entries.length > MAX_PARAMETERS) return [tooLongField('parameters', MAX_PARAMETERS)]
  const bytes = entries.reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0)
  return [
    ...('' in parameters ? [invalidField('parameters', '', 'field can not be empty.')] : []),
    ...(bytes > MAX_PARAMETER_BYTES ? [tooLongField('parameters', MAX_PARAMETER_BYTES)] : []),
  ]
}
