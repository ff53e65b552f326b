/**
 * Where ours answers in another way than the real server, and why that may stay so. None of these shows or changes more, or lets
 * more people in. Each must still be seen by the suite, so that the list does not outlive what it is about. Names of parameters
 * stand here without their first letter, which may be escaped.
 */
import type { Difference } from './twin-answers.ts'
import type { Asked } from './twins.ts'

export interface Known {
  readonly why: string
  matches(asked: Asked, difference: Difference): boolean
}

const resource = /^\/apis?\//

export const KNOWN: readonly Known[] = [
  {
    why: 'methods that no standard has are refused by the HTTP parser, before anybody knows the path',
    matches: ({ method }, { ours }) => method === 'FOO' && ours.status === 400,
  },
  {
    why: 'a target with a scheme and no host is refused by the HTTP parser',
    matches: ({ target }, { ours }) => target.startsWith('foo:') && ours.status === 400,
  },
  {
    why: 'the list of all paths, profiles and the second page of metrics are not served',
    matches: ({ target }, { real, ours }) =>
      /^(\/?\??|\/debug\/pprof\/?|\/metrics\/slis)$/.test(target) && real.status < 400 && ours.status === 404,
  },
  {
    why: 'the real server takes any method for a read of its documents, ours says 405',
    matches: ({ target }, { real, ours }) =>
      /^\/(apis(\/apps)?|openapi\/v2)?$/.test(target) && real.status === 200 && [404, 405].includes(ours.status),
  },
  {
    why: 'a document is served with one slash at its end, not with two',
    matches: ({ target }, { ours }) => /^\/(api|apis|version)\b[^?]*\/\/(\?|$)/.test(target) && ours.status === 404,
  },
  {
    why: 'dots for a namespace are refused by the storage of the real server, with a 500; in ours nothing lies there',
    matches: ({ target }, { real, ours }) =>
      /\/namespaces(\/|%2F)(\.|%2e){2}(\/|%2F)/.test(target) && real.status === 500 && ours.objects?.length !== 1,
  },
  {
    why: 'the real server says it in plain text',
    matches: ({ target }, { real, ours }) =>
      /(\/|%2F)(watch|proxy)(\/|%2F)*(\?|$)/.test(target) && real.status === 500 && ours.status === 500,
  },
  {
    why: 'a version that is no number is our client’s mistake, not ours',
    matches: ({ target }, { real, ours }) =>
      /esourceVersion=/.test(target) && real.status === 500 && ours.status === 400,
  },
  {
    why: 'the real server forgets the limit where any version will do, and sends the whole list',
    matches: ({ target }, { real, ours }) =>
      /esourceVersion=0\b/.test(target) && /imit=[15]\b/.test(target) && isPart(ours.objects, real.objects),
  },
  {
    why: 'a watch that ends before it begins: the real server says nothing or an error, ours shows what there is',
    matches: ({ target }, { real, ours }) =>
      /imeoutSeconds=-/.test(target) && real.status === 200 && ours.status === 200,
  },
  {
    why: 'the real server names the mode that it tried first, or the one that was good for this caller the last time',
    matches: ({ headers = [] }, { real, ours }) =>
      headers.some(([name]) => name === 'impersonate-user') && real.status === 403 && ours.status === 403,
  },
  {
    why: 'names that are not UTF-8 are nobody’s',
    matches: ({ headers = [] }, { ours }) =>
      headers.some(([, value]) => value.includes('\u00ef') && !value.includes('\u00c3')) && ours.status === 400,
  },
  {
    why: 'the real server deletes what there was at that version, ours what there is, if it has that version',
    matches: ({ method, target }, { ours }) =>
      method === 'DELETE' && /esourceVersion=1\b/.test(target) && [400, 409].includes(ours.status),
  },
  {
    why: 'what has two faults is refused for either',
    matches: ({ method, target }, { real, ours }) =>
      ['POST', 'PUT'].includes(method) && resource.test(target) && isEither(real.status) && isEither(ours.status),
  },
  {
    why: 'a binding that is replaced with itself hands out nothing; the real server finds it changed for want of its uid',
    matches: ({ method, target }, { real, ours }) =>
      method === 'PUT' && /rolebindings\/new-made$/.test(target) && real.status === 403 && ours.status === 200,
  },
]

/** Of random requests: what is wrong with them in several ways at once. */
export const KNOWN_OF_RANDOM: readonly Known[] = [
  ...KNOWN,
  {
    why: 'below the OpenAPI documents the real server looks for the document first, ours for the method',
    matches: ({ target }, { real, ours }) =>
      target.startsWith('/openapi/') && real.status === 404 && ours.status === 405,
  },
  {
    why: 'each server has leases and services of its own, which count where no namespace is named',
    matches: ({ target }, { real, ours }) =>
      /limit/i.test(target) &&
      !target.includes('/namespaces/') &&
      (isPart(ours.objects, real.objects) || isPart(real.objects, ours.objects)),
  },
  {
    why: 'what has several faults is refused for any of them; not one of these is a lack of rights',
    matches: ({ target, headers = [], type }, { real, ours }) =>
      isFault(real.status) &&
      isFault(ours.status) &&
      (headers.some(([name]) => name === 'accept') || type !== undefined || /%2e%2e|\.\.|%25/.test(target)),
  },
  {
    why: 'the real server deletes, and then says that it cannot show what it has deleted',
    matches: ({ method }, { real, ours }) => method === 'DELETE' && real.status === 406 && ours.status === 200,
  },
]

function isFault(status: number): boolean {
  return [400, 404, 406, 415, 422].includes(status)
}

function isEither(status: number): boolean {
  return [400, 403, 422].includes(status)
}

function isPart(part: readonly string[] = [], whole: readonly string[] = []): boolean {
  return part.every((name) => whole.includes(name))
}
