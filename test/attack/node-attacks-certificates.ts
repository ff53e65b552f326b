/** What a node tries with certificates: others' names, more usages, other signers, its own approval. */
import { generateKeyPairSync } from 'node:crypto'
import { createRequest } from '../../src/identity/csr.ts'
import type { DistinguishedName } from '../../src/identity/distinguished-name.ts'
import { type Attack, MERGE } from './node-attack.ts'

export const CSRS = '/apis/certificates.k8s.io/v1/certificatesigningrequests'

/** PEM in base64, by what is odd about them. */
export interface SigningRequests {
  readonly own: string
  readonly other: string
  readonly masters: string
  readonly named: string
}

export async function signingRequests(): Promise<SigningRequests> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const request = async (organisation: string, name: string, dns: readonly string[] = []): Promise<string> => {
    const subject: DistinguishedName = [
      { type: 'O', value: organisation },
      { type: 'CN', value: name },
    ]
    const names = dns.length === 0 ? {} : { names: { dnsNames: [...dns], ipAddresses: [] } }
    return Buffer.from(await createRequest({ subject, ...names }, privateKey)).toString('base64')
  }
  return {
    own: await request('system:nodes', 'system:node:edge-1'),
    other: await request('system:nodes', 'system:node:edge-2'),
    masters: await request('system:masters', 'admin'),
    named: await request('system:nodes', 'system:node:edge-1', ['kubernetes.default.svc']),
  }
}

const client = ['digital signature', 'client auth']
const serving = ['digital signature', 'server auth']

export function csrAttacks({ own, other, masters, named }: SigningRequests): readonly Attack[] {
  const ask = (
    what: string,
    request: string,
    signer: string,
    usages: readonly string[],
    isAllowed = false,
  ): Attack => ({
    what: `asks for ${what}`,
    method: 'POST',
    target: `${CSRS}?dryRun=All`,
    body: { metadata: { name: 'wish' }, spec: { request, signerName: `kubernetes.io/${signer}`, usages } },
    isAllowed,
  })
  const approval = { status: { conditions: [{ type: 'Approved', status: 'True', reason: 'r', message: 'm' }] } }
  const at = `${CSRS}/made`
  return [
    ask('its client certificate', own, 'kube-apiserver-client-kubelet', client, true),
    ask('a client certificate of another node', other, 'kube-apiserver-client-kubelet', client),
    ask('a client certificate of an administrator', masters, 'kube-apiserver-client', client),
    ask(
      'a client certificate of an administrator by the signer of nodes',
      masters,
      'kube-apiserver-client-kubelet',
      client,
    ),
    ask('a client certificate that serves too', own, 'kube-apiserver-client-kubelet', [...client, 'server auth'], true),
    ask('a client certificate with other names', named, 'kube-apiserver-client-kubelet', client, true),
    ask('a serving certificate of the control plane', named, 'kubelet-serving', serving, true),
    ask('a serving certificate of another node', other, 'kubelet-serving', serving),
    ask('a certificate of an unknown signer', own, 'legacy-unknown', client),
    { what: 'approves a request', method: 'PATCH', target: `${at}/approval`, body: approval, type: MERGE },
    {
      what: 'approves a request through its status',
      method: 'PATCH',
      target: `${at}/status`,
      body: approval,
      type: MERGE,
    },
    {
      what: 'signs a request',
      method: 'PATCH',
      target: `${at}/status`,
      body: { status: { certificate: 'AAAA' } },
      type: MERGE,
    },
    { what: 'changes a request', method: 'PATCH', target: at, body: { spec: { usages: serving } }, type: MERGE },
    { what: 'deletes a request', method: 'DELETE', target: at },
    { what: 'reads a request', method: 'GET', target: at, isAllowed: true },
    { what: 'reads all requests', method: 'GET', target: CSRS, isAllowed: true },
    {
      what: 'makes itself trusted',
      method: 'POST',
      target: '/apis/certificates.k8s.io/v1beta1/clustertrustbundles',
      body: { metadata: { name: 'new' }, spec: { trustBundle: '' } },
    },
  ]
}
