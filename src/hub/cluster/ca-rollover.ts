/**
 * Replacing the CA while edges are out there. The new CA is certified by the old one as well, and that cross-certificate
 * travels with everything the new one signs: an edge that trusts only the old CA, because it slept through the change, can
 * still follow the chain, also after the old CA was retired. Until then certificates of edges that it signed count.
 */
import { type Certificate, certificatePem } from '../../identity/certificate.ts'
import { userName } from '../../identity/distinguished-name.ts'
import { issueCertificate, issueSelfSignedCa, validityFromNow } from '../../identity/issue.ts'
import { generateKeys, keyFingerprint, privateKeyPem } from '../../identity/keys.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { configMaps, secrets } from '../../kube/client/kinds.ts'
import type { Secret } from '../../kube/client/types.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Random } from '../../runtime/random.ts'
import type { Claim, KeyFingerprint } from '../claims/claim.ts'
import { listClaims } from '../claims/claim-list.ts'
import { ClusterError, explained } from '../shared/cluster-error.ts'
import { secretData } from '../shared/fields.ts'
import { CA_SECRET } from '../shared/names.ts'
import { changeShared } from '../shared/shared-object.ts'
import { authorityOfSecret, CA_FIELDS, CA_LIFE_MS, type LoadedAuthority } from './authority.ts'

/** Each adds a certificate to every handshake; by then the oldest have to be retired. */
const MAX_TRUSTED_CAS = 4
/** With the certificate they come with they fit into the longest chain that a peer reads. */
const MAX_CHAIN_ABOVE = 6
/** How many of the nodes that would be cut off are named; the list of nodes has them all. */
const MAX_NODES_NAMED = 20
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
  /** CAs of before that are still trusted. */
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
      [CA_FIELDS.cross]: certificatePem(...[cross, ...present.chainAbove].slice(0, MAX_CHAIN_ABOVE)),
    })
    return { ...secret, data }
  })
}

export interface RetireOptions extends RolloverOptions {
  /** Retires a CA also where nodes would be cut off. */
  readonly force?: boolean
}

/**
 * Takes the trust away from all CAs but the signing one. A node that still has a certificate of those would have to join
 * again, so as long as there are any, this is a `ClusterError` that names them.
 */
export async function retirePrevious(options: RetireOptions): Promise<Rollover> {
  const { client, namespace, force = false } = options
  return await changeAuthority('retire the old CAs', options, async (secret, { signing, trust }) => {
    if (!force && trust.length > 1) {
      const { claims } = await listClaims(client.resource(configMaps).in(namespace))
      refuseToCutOff(claims, keyFingerprint(signing.certificate.publicKey))
    }
    // The cross-certificates stay: whoever knows only an old CA still finds the hub, and hears what to do.
    const { [CA_FIELDS.previous]: _trusted, ...data } = secret.data ?? {}
    return { ...secret, data }
  })
}

function refuseToCutOff(claims: readonly Claim[], signingKey: KeyFingerprint): void {
  const left = claims.filter((claim) => needsOldCa(claim, signingKey)).map(({ node }) => node)
  if (left.length === 0) return
  const names = left.slice(0, MAX_NODES_NAMED).join(', ')
  const others = left.length > MAX_NODES_NAMED ? `, and ${left.length - MAX_NODES_NAMED} more` : ''
  throw new ClusterError(
    `${left.length} of ${claims.filter(({ state }) => state === 'held').length} nodes have, as far as is known, no ` +
      `certificate of the new CA in use yet: ${names}${others}. Without the old CA they would be cut off and have to join ` +
      'again. Nodes that are online renew by themselves within hours (causeway nodes -o wide shows the issuer); forget those ' +
      'that are gone (causeway nodes forget NODE), or retire the old CA all the same with --force',
  )
}

/** A certificate that was issued and not yet seen in use may never have arrived. Where nothing is noted, it may be old. */
function needsOldCa(claim: Claim, signingKey: KeyFingerprint): boolean {
  return claim.state === 'held' && (claim.issuer !== signingKey || claim.next !== undefined)
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
