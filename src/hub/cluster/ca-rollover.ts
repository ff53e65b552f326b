/**
 * Replacing the CA while edges are out there. The new CA is certified by the old one as well, and that cross-certificate
 * travels with everything the new one signs: an edge that trusts only the old CA, because it slept through the change, can
 * still follow the chain. The old CA stays trusted until it is retired.
 */
import { type Certificate, certificatePem } from '../../identity/certificate.ts'
import { userName } from '../../identity/distinguished-name.ts'
import { issueCertificate, issueSelfSignedCa, validityFromNow } from '../../identity/issue.ts'
import { generateKeys, privateKeyPem } from '../../identity/keys.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { secrets } from '../../kube/client/kinds.ts'
import type { Secret } from '../../kube/client/types.ts'
import type { Clock } from '../../telemetry/clock.ts'
import { authorityOfSecret, CA_FIELDS, CA_LIFE_MS, type LoadedAuthority } from './authority.ts'
import { ClusterError, explained } from './cluster-error.ts'
import { secretData } from './fields.ts'
import { CA_SECRET } from './names.ts'
import type { Random } from './random.ts'
import { changeShared } from './shared-object.ts'

/** Each adds a certificate to every handshake; by then the oldest have to be retired. */
export const MAX_TRUSTED_CAS = 4
const nameBytes = 4
const caKeyUsages = ['digitalSignature', 'keyCertSign', 'cRLSign'] as const

export interface RolloverOptions {
  readonly client: KubeClient
  readonly namespace: string
  readonly clock: Clock
  readonly random: Random
}

export interface Rollover {
  /** The CA that signs from now on. */
  readonly signing: Certificate
  /** Those that are still trusted. */
  readonly previous: readonly Certificate[]
}

/** Makes a new CA beside the present one. Hubs take it over within a minute; no edge has to do anything. */
export async function rollOver(options: RolloverOptions): Promise<Rollover> {
  return await changeAuthority('replace the CA', options, async (secret, present) => {
    const { clock, random } = options
    if (present.trust.length >= MAX_TRUSTED_CAS)
      throw new ClusterError(
        `${present.trust.length} CAs are trusted already; retire the old ones first: causeway ca retire`,
      )
    const { privateKey, publicKey } = await generateKeys()
    const subject = userName(`causeway-hub-ca-${random.bytes(nameBytes).toString('hex')}`)
    const validity = validityFromNow(clock, CA_LIFE_MS)
    const { certificate } = await issueSelfSignedCa({ subject, ...validity }, privateKey)
    const template = { subject, ...validity, ca: {}, keyUsages: caKeyUsages }
    const cross = await issueCertificate(present.signing, template, publicKey, { ifOutlivesCa: 'cap' })
    const data = secretData({
      [CA_FIELDS.certificate]: certificatePem(certificate),
      [CA_FIELDS.key]: privateKeyPem(privateKey),
      [CA_FIELDS.previous]: certificatePem(...present.trust),
      // After one's own cross-certificate those of the CAs before, for edges that slept even longer.
      [CA_FIELDS.cross]: certificatePem(cross, ...present.chainAbove),
    })
    return { ...secret, data }
  })
}

/** Takes the trust away from all CAs but the signing one. Edges that still have certificates of those must join again. */
export async function retirePrevious(options: RolloverOptions): Promise<Rollover> {
  return await changeAuthority('retire the old CAs', options, (secret) => {
    const { [CA_FIELDS.previous]: _trusted, [CA_FIELDS.cross]: _cross, ...data } = secret.data ?? {}
    return { ...secret, data }
  })
}

async function changeAuthority(
  doing: string,
  options: RolloverOptions,
  change: (secret: Secret, present: LoadedAuthority) => Promise<Secret> | Secret,
): Promise<Rollover> {
  const { client, namespace, clock } = options
  const objects = client.resource(secrets).in(namespace)
  const changed = await explained(doing, () =>
    changeShared(
      objects,
      CA_SECRET,
      async (secret) => {
        if (secret === undefined)
          throw new ClusterError(
            `there is no Secret ${namespace}/${CA_SECRET}: no hub has made a CA here, or it uses files`,
          )
        return await change(secret, await authorityOfSecret(secret, clock))
      },
      options,
    ),
  )
  const { signing, trust } = await authorityOfSecret(changed ?? {}, clock)
  return { signing: signing.certificate, previous: trust.slice(1) }
}
