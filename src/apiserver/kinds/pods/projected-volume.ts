/** Projected volumes: several sources in one directory, whose paths must not meet. */
import { type FieldError, forbiddenField, invalidField, requiredField } from '../../../kube/status/field-error.ts'
import { checkEach, checkRequired } from '../checks.ts'
import { type Fields, has, integer, struct, structs, text } from '../fields.ts'
import { checkUnreservedPath } from './paths.ts'
import { checkDownwardFile, checkKeyToPath } from './volume-files.ts'

const MIN_TOKEN_SECONDS = 600
const MAX_TOKEN_SECONDS = 2 ** 32

const sourceNames = [
  'secret',
  'configMap',
  'downwardAPI',
  'serviceAccountToken',
  'clusterTrustBundle',
  'podCertificate',
]

export function checkProjectedSources(volume: Fields, path: string): FieldError[] {
  const taken = new Set<string>()
  return checkEach(structs(volume, 'sources'), `${path}.sources`, (source, at) => {
    const errors = [
      ...checkKeys(struct(source, 'secret'), `${at}.secret`, path, taken),
      ...checkKeys(struct(source, 'configMap'), `${at}.configMap`, path, taken),
      ...structs(struct(source, 'downwardAPI'), 'items').flatMap((file) => [
        ...checkDownwardFile(file, `${at}.downwardAPI`),
        ...takePath(text(file, 'path'), text(file, 'path'), path, taken),
      ]),
      ...checkToken(struct(source, 'serviceAccountToken'), `${at}.serviceAccountToken`, path),
    ]
    if (sourceNames.filter((name) => has(source, name)).length > 1) {
      errors.push(forbiddenField(at, 'may not specify more than 1 volume type per source'))
    }
    return errors
  })
}

function checkKeys(source: Fields | undefined, path: string, volumePath: string, taken: Set<string>): FieldError[] {
  if (source === undefined) return []
  const name = text(source, 'name')
  return [
    ...checkRequired(name, `${path}.name`),
    ...checkEach(structs(source, 'items'), `${path}.items`, (item, at) => [
      ...checkKeyToPath(item, at),
      ...takePath(text(item, 'path'), name, volumePath, taken),
    ]),
  ]
}

function takePath(filePath: string, shown: string, volumePath: string, taken: Set<string>): FieldError[] {
  if (filePath === '') return []
  if (taken.has(filePath)) return [invalidField(volumePath, shown, 'conflicting duplicate paths')]
  taken.add(filePath)
  return []
}

function checkToken(source: Fields | undefined, path: string, volumePath: string): FieldError[] {
  if (source === undefined) return []
  const seconds = integer(source, 'expirationSeconds') ?? 0
  const errors: FieldError[] = []
  if (seconds < MIN_TOKEN_SECONDS) {
    const detail = 'may not specify a duration less than 10 minutes'
    errors.push(invalidField(`${path}.expirationSeconds`, seconds, detail))
  }
  if (seconds > MAX_TOKEN_SECONDS) {
    const detail = 'may not specify a duration larger than 2^32 seconds'
    errors.push(invalidField(`${path}.expirationSeconds`, seconds, detail))
  }
  const tokenPath = text(source, 'path')
  if (tokenPath === '') errors.push(requiredField(`${volumePath}.path`))
  else errors.push(...checkUnreservedPath(tokenPath, `${volumePath}.path`))
  return errors
}
