/** Tokens from a file: `token,user,uid,"group1,group2"` a line, as kube-apiserver's --token-auth-file has it. */
import { createHash } from 'node:crypto'
import type { Exchange } from '../../serving/exchange.ts'
import type { Authentication, Authenticator } from '../authenticator.ts'
import type { UserInfo } from '../user.ts'
import { bearerToken } from './bearer-token.ts'

export class StaticTokenAuthenticator implements Authenticator {
  /** By the hash of the token: looking up a hash tells an attacker nothing by its time. */
  readonly #users = new Map<string, UserInfo>()

  constructor(csv: string, source: string) {
    for (const [index, line] of csv.split(/\r?\n/).entries()) {
      if (line.trim() === '') continue
      const fields = splitLine(line)
      const [token = '', name = '', uid, groups = ''] = fields
      if (uid === undefined || token === '' || name === '') {
        throw new Error(`${source} line ${index + 1}: expected token,user,uid and optionally groups`)
      }
      const groupList = groups.split(',').map((group) => group.trim()).filter((group) => group !== '')
      this.#users.set(hash(token), { name, uid, groups: groupList, extra: {} })
    }
  }

  authenticate({ headers }: Exchange): Promise<Authentication> {
    const token = bearerToken(headers)
    if (token === undefined) return Promise.resolve({ outcome: 'absent' })
    const user = this.#users.get(hash(token))
    return Promise.resolve(user === undefined ? { outcome: 'wrong', reason: 'unknown token' } : { outcome: 'known', user })
  }
}

/** Fields with commas stand in double quotes. */
function splitLine(line: string): string[] {
  return [...line.matchAll(/(?:^|,)(?:"([^"]*)"|([^,]*))/g)].map(([, quoted, plain]) => (quoted ?? plain ?? '').trim())
}

function hash(token: string): string {
  return createHash('sha256').update(token).digest('base64')
}
