/** Who may approve or sign is decided for each signer: by its name, or for all signers of its domain. */
import type { Authorizer } from '../request/authorizer.ts'
import type { UserInfo } from '../request/user.ts'

export function maySigner(authorizer: Authorizer, user: UserInfo, verb: 'approve' | 'sign', signer: string): boolean {
  const [domain = ''] = signer.split('/')
  return [signer, `${domain}/*`].some((name) => {
    const { verdict } = authorizer.authorize({
      kind: 'resource',
      user,
      verb,
      namespace: '',
      apiGroup: 'certificates.k8s.io',
      apiVersion: '*',
      resource: 'signers',
      subresource: '',
      name,
      fieldSelector: '',
      labelSelector: '',
    })
    return verdict === 'allow'
  })
}
