/** Tokens from a file: `token,user,uid,"group1,group2"` a line, as kube-apiserver's --token-auth-file has it. */
import { createHash } from 'node:crypto'
import type { UserInfo } from '../../request/user.ts'
import { SetupError } from '../../setup-error.ts'

export class StaticTokens {
  /** By the hash of the token: looking up a hash tells an attacker nothing by its time. */
  readonly #users = new Map<string, UserInfo>()

  constructor(csv: string, source: string) {
    for (const [index, line] of csv.split(/\r?\n/).entries()) {
      if (line.trim() === '') continue
      const fields = splitLine(line)
      const [token = '', name = '', uid, groups = ''] = fields
      if (uid === undefined || token === '' || name === '') {
        throw new SetupError(`${source} line ${index + 1}: expected token,user,uid and optionally groups`)
      }
      const groupList = groups
        .split(',')
        .map((group) => group.trim())
        .filter((group) => group !== '')
      this.#users.set(hash(token), { name, uid, groups: groupList, extra: {} })
    }
  }

  userOf(token: string): UserInfo | undefined {
    return this.#users.get(hash(token))
  }
}

/** The fields of a line of CSV; those with commas stand in double quotes. */
function splitLine(line: string): string[] {
  return [...line.matchAll(/(?:^|,)(?:"([^"]*)"|([^,]*))/g)].map(([, quoted, plain]) => (quoted ?? plain ?? '').trim())
}

function hash(token: string): string {
  return createHash('sha256').update(token).digest('base64')
}
