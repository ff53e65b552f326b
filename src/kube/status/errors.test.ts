/** Every constructor against the JSON that kube-apiserver and apimachinery produce for the same error. */
import { expect, test } from 'vitest'
import { accessDenied } from './access-denied.ts'
import * as availability from './availability-errors.ts'
import { invalidField, requiredField } from './field-error.ts'
import { genericServerResponse } from './generic-response.ts'
import * as requests from './request-errors.ts'
import * as resources from './resource-errors.ts'
import { ApiError, successStatus } from './status.ts'

const pods = { group: '', resource: 'pods' }
const deployments = { group: 'apps', resource: 'deployments' }

function json(error: ApiError): unknown {
  const text = JSON.stringify(error.status)
  const prefix = '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
  expect(text.slice(0, prefix.length)).toBe(prefix)
  return `{${text.slice(prefix.length)}`
}

test.each<[string, ApiError, string]>([
  [
    'notFound',
    resources.notFound(pods, 'a'),
    String.raw`{"message":"pods \"a\" not found","reason":"NotFound","details":{"name":"a","kind":"pods"},"code":404}`,
  ],
  [
    'notFound in a group',
    resources.notFound(deployments, 'a'),
    String.raw`{"message":"deployments.apps \"a\" not found","reason":"NotFound","details":{"name":"a","group":"apps","kind":"deployments"},"code":404}`,
  ],
  [
    'alreadyExists',
    resources.alreadyExists(pods, 'a'),
    String.raw`{"message":"pods \"a\" already exists","reason":"AlreadyExists","details":{"name":"a","kind":"pods"},"code":409}`,
  ],
  [
    'generateNameConflict',
    resources.generateNameConflict(pods, 'a', 1),
    String.raw`{"message":"pods \"a\" already exists, the server was not able to generate a unique name for the object","reason":"AlreadyExists","details":{"name":"a","kind":"pods","retryAfterSeconds":1},"code":409}`,
  ],
  [
    'conflict',
    resources.conflict(pods, 'a', resources.OBJECT_MODIFIED),
    String.raw`{"message":"Operation cannot be fulfilled on pods \"a\": the object has been modified; please apply your changes to the latest version and try again","reason":"Conflict","details":{"name":"a","kind":"pods"},"code":409}`,
  ],
  [
    'applyConflict',
    resources.applyConflict([{ reason: 'FieldManagerConflict', message: 'm', field: '.data.k' }], 'Apply failed'),
    `{"message":"Apply failed","reason":"Conflict","details":{"causes":[{"reason":"FieldManagerConflict","message":"m","field":".data.k"}]},"code":409}`,
  ],
  [
    'forbidden',
    resources.forbidden(pods, '', 'no'),
    `{"message":"pods is forbidden: no","reason":"Forbidden","details":{"kind":"pods"},"code":403}`,
  ],
  [
    'invalid',
    resources.invalid({ group: 'apps', kind: 'Deployment' }, 'a', [
      requiredField('spec.x'),
      invalidField('spec.y', 3, 'odd'),
    ]),
    String.raw`{"message":"Deployment.apps \"a\" is invalid: [spec.x: Required value, spec.y: Invalid value: 3: odd]","reason":"Invalid","details":{"name":"a","group":"apps","kind":"Deployment","causes":[{"reason":"FieldValueRequired","message":"Required value","field":"spec.x"},{"reason":"FieldValueInvalid","message":"Invalid value: 3: odd","field":"spec.y"}]},"code":422}`,
  ],
  [
    'invalid without field errors',
    resources.invalid({ group: '', kind: 'Pod' }, '', []),
    String.raw`{"message":"Pod \"\" is invalid","reason":"Invalid","details":{"kind":"Pod"},"code":422}`,
  ],
  [
    'methodNotSupported',
    resources.methodNotSupported(deployments, 'watch'),
    String.raw`{"message":"watch is not supported on resources of kind \"deployments.apps\"","reason":"MethodNotAllowed","details":{"group":"apps","kind":"deployments"},"code":405}`,
  ],
  [
    'serverTimeout',
    resources.serverTimeout(pods, 'list', 0),
    `{"message":"The list operation against pods could not be completed at this time, please try again.","reason":"ServerTimeout","details":{"name":"list","kind":"pods"},"code":500}`,
  ],
  ['badRequest', requests.badRequest('odd'), `{"message":"odd","reason":"BadRequest","code":400}`],
  ['unauthorized', requests.unauthorized(), `{"message":"Unauthorized","reason":"Unauthorized","code":401}`],
  [
    'unauthorized, unexplained',
    requests.unauthorized(''),
    `{"message":"not authorized","reason":"Unauthorized","code":401}`,
  ],
  [
    'notAcceptable',
    requests.notAcceptableMediaType(['a/b', 'c/d']),
    `{"message":"only the following media types are accepted: a/b, c/d","reason":"NotAcceptable","code":406}`,
  ],
  [
    'unsupportedMediaType',
    requests.unsupportedMediaType(['a/b']),
    `{"message":"the body of the request was in an unknown format - accepted media types include: a/b","reason":"UnsupportedMediaType","code":415}`,
  ],
  [
    'requestEntityTooLarge',
    requests.requestEntityTooLarge('limit is 3145728'),
    `{"message":"Request entity too large: limit is 3145728","reason":"RequestEntityTooLarge","code":413}`,
  ],
  ['gone', requests.gone('old'), `{"message":"old","reason":"Gone","code":410}`],
  ['resourceExpired', requests.resourceExpired('old'), `{"message":"old","reason":"Expired","code":410}`],
  [
    'timeout',
    availability.timeout('slow', 0),
    `{"message":"Timeout: slow","reason":"Timeout","details":{},"code":504}`,
  ],
  [
    'tooLargeResourceVersion',
    availability.tooLargeResourceVersion(999999999, 209n),
    `{"message":"Timeout: Too large resource version: 999999999, current: 209","reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"retryAfterSeconds":1},"code":504}`,
  ],
  [
    'tooManyRequests',
    availability.tooManyRequests('busy', 7),
    `{"message":"busy","reason":"TooManyRequests","details":{"retryAfterSeconds":7},"code":429}`,
  ],
  [
    'serviceUnavailable',
    availability.serviceUnavailable('tide is in'),
    `{"message":"tide is in","reason":"ServiceUnavailable","code":503}`,
  ],
  [
    'internalError',
    availability.internalError('broken'),
    `{"message":"Internal error occurred: broken","reason":"InternalError","details":{"causes":[{"message":"broken"}]},"code":500}`,
  ],
  ['insufficientStorage', availability.insufficientStorage('full'), `{"message":"full","code":507}`],
  [
    'a router that knows no such path',
    genericServerResponse({ code: 404, method: '', serverMessage: '404: Not Found', unexpected: false }),
    `{"message":"the server could not find the requested resource","reason":"NotFound","details":{},"code":404}`,
  ],
])('%s', (_name, error, expected) => {
  expect(json(error)).toBe(expected)
  expect(error.message).toBe(error.status.message)
})

const access = {
  kind: 'resource' as const,
  verb: 'get',
  apiGroup: '',
  resource: 'pods',
  subresource: '',
  namespace: 'default',
  name: 'foo',
}

test.each<[ApiError, string]>([
  [
    accessDenied('bob', access),
    'pods "foo" is forbidden: User "bob" cannot get resource "pods" in API group "" in the namespace "default"',
  ],
  [
    accessDenied('bob', {
      ...access,
      namespace: '',
      name: '',
      apiGroup: 'apps',
      resource: 'deployments',
      subresource: 'scale',
    }),
    'deployments.apps is forbidden: User "bob" cannot get resource "deployments/scale" in API group "apps" at the cluster scope',
  ],
  [
    accessDenied('bob', access, 'not on Sundays'),
    'pods "foo" is forbidden: User "bob" cannot get resource "pods" in API group "" in the namespace "default": not on Sundays',
  ],
  [
    accessDenied('bob<b>&', { kind: 'non-resource', verb: 'get', path: '/foo bar' }),
    'forbidden: User "bob&lt;b&gt;&amp;" cannot get path "/foo bar"',
  ],
])('access denied: %s', (error, message) => {
  expect(error.code).toBe(403)
  expect(error.message).toBe(message)
})

test('an expired continue token comes with one to go on', () => {
  expect(requests.resourceExpired('old', 'token').status.metadata).toEqual({ continue: 'token' })
})

test('a success is a Status, too', () => {
  expect(JSON.stringify(successStatus({ uid: 'u', kind: 'pods', name: 'a' }))).toBe(
    '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","details":{"name":"a","kind":"pods","uid":"u"},"code":200}',
  )
})

test('an ApiError keeps its cause', () => {
  const cause = new Error('inner')
  const error = new ApiError({ code: 500, message: 'outer' }, { cause })
  expect(error).toBeInstanceOf(Error)
  expect(error.cause).toBe(cause)
  expect(`${error}`).toBe('ApiError: outer')
})
