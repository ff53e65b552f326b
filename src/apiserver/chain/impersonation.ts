/**
 * Lets a caller act as somebody else, if the policy allows it to impersonate each part of that identity. The answer is what
 * the other would get; the log keeps who really asked.
 */

import type { RequestHeaders } from '../../http/server/exchange.ts'
import type { RequestInfo } from '../../kube/request-info.ts'
import { badRequest } from '../../kube/status/request-errors.ts'
import type { Clock } from '../../runtime/clock.ts'
import { Turns } from '../../runtime/turns.ts'
import { readExtra } from '../auth/authn/extra-headers.ts'
import { allTexts, firstText } from '../auth/authn/header-text.ts'
import { type Attributes, type Authorizer, allow, type ResourceAttributes } from '../request/authorizer.ts'
import type { Filter } from '../request/handler.ts'
import { ANONYMOUS_USER, AUTHENTICATED_GROUP, UNAUTHENTICATED_GROUP, type UserInfo } from '../request/user.ts'
import { CONSTRAINED_MODES, type Mode, OLD_RIGHT, type Part, partsOfOldRight } from './impersonation-modes.ts'

const extraPrefix = 'impersonate-extra-'

export function withImpersonation(authorizer: Authorizer, clock: Clock): Filter {
  return (next) => async (context) => {
    const wanted = readWanted(context.exchange.headers)
    if (wanted !== undefined) {
      const caller = context.user
      context.user = await played({ authorizer, turns: new Turns(clock) }, caller, wanted, context.info)
      context.impersonator = caller
      for (const name of [...context.exchange.headers.names()]) {
        if (name.startsWith('impersonate-')) context.exchange.headers.remove(name)
      }
    }
    await next(context)
  }
}

function readWanted(headers: RequestHeaders): UserInfo | undefined {
  const name = firstText(headers, 'impersonate-user')
  const uid = firstText(headers, 'impersonate-uid')
  const groups = allTexts(headers, 'impersonate-group')
  const extra = readExtra(headers, extraPrefix)
  if (name !== '') return { name, uid, groups, extra }
  if (uid === '' && groups.length === 0 && Object.keys(extra).length === 0) return undefined
  throw badRequest(`requested ${JSON.stringify([...groups, ...Object.keys(extra)])} without impersonating a user name`)
}

/** Hundreds of groups are as many questions to a large policy: others are served in between. */
interface Asking {
  readonly authorizer: Authorizer
  readonly turns: Turns
}

/** Throws what the old right lacks where no mode allows it: that is the refusal that people know. */
async function played(asking: Asking, caller: UserInfo, wanted: UserInfo, info: RequestInfo): Promise<UserInfo> {
  const { authorizer, turns } = asking
  for (const mode of CONSTRAINED_MODES) {
    const parts = mode.partsOf(wanted, caller)
    if (parts === undefined) continue
    const onThis = { ...info, user: caller, verb: `impersonate-on:${mode.name}:${info.verb}` }
    const questions = [onThis, ...parts.map((part) => attributesOf(caller, mode, part))]
    if (await allowsAll(asking, questions)) return withGroups(wanted, mode)
  }
  for (const part of partsOfOldRight(wanted)) {
    allow(authorizer, attributesOf(caller, OLD_RIGHT, part))
    if (turns.isOver) await turns.next()
  }
  return withGroups(wanted, OLD_RIGHT)
}

async function allowsAll({ authorizer, turns }: Asking, questions: readonly Attributes[]): Promise<boolean> {
  for (const attributes of questions) {
    if (authorizer.authorize(attributes).verdict !== 'allow') return false
    if (turns.isOver) await turns.next()
  }
  return true
}

function attributesOf(user: UserInfo, { verb }: Mode, part: Part): ResourceAttributes {
  return {
    kind: 'resource',
    user,
    verb,
    apiVersion: part.apiGroup === '' ? '' : 'v1',
    subresource: '',
    namespace: '',
    fieldSelector: '',
    labelSelector: '',
    ...part,
  }
}

/** Groups that a real login would have brought along. */
function withGroups(user: UserInfo, mode: Mode): UserInfo {
  const groups = user.groups.length === 0 ? [...mode.groupsOf(user)] : [...user.groups]
  if (groups.includes(UNAUTHENTICATED_GROUP)) return { ...user, groups }
  const isAnonymous = user.name === ANONYMOUS_USER
  if (isAnonymous || !groups.includes(AUTHENTICATED_GROUP))
    groups.push(isAnonymous ? UNAUTHENTICATED_GROUP : AUTHENTICATED_GROUP)
  return { ...user, groups }
}
