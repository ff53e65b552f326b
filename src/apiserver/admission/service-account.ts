/**
 * Every pod runs as a service account of its namespace, which must exist, and gets its token and its pull secrets. Mirror
 * pods have none: they show what a node runs anyway, and must not be a way to an account.
 */
import type { KubeObject } from '../../kube/objects.ts'
import { goQuote } from '../../kube/status/go-text.ts'
import type { ApiError } from '../../kube/status/status.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../core/admission.ts'
import { generateName } from '../core/write/generate-name.ts'
import { ensureStruct, type Fields, struct, structs, text } from '../kinds/fields.ts'
import { type ObjectLookup, PODS, SERVICE_ACCOUNTS } from './lookup.ts'
import { MIRROR_ANNOTATION } from './mirror-pod.ts'
import { containerSecretNotAllowed, referencesSecrets, secretNotAllowed } from './pod-secrets.ts'
import { concerns, earlyRefusal, refusal } from './refusal.ts'
import { mountToken } from './token-volume.ts'

/** A controller makes this account shortly after the namespace; pods that come at once wait for it a little. */
const defaultAccount = 'default'
/** A new namespace gets its default account a moment later; pods made at once wait for it this long. */
export const DEFAULT_ACCOUNT_TRIES = 10
export const DEFAULT_ACCOUNT_RETRY_MS = 150

const enforceAnnotation = 'kubernetes.io/enforce-mountable-secrets'
const trueTexts = new Set(['1', 't', 'T', 'true', 'TRUE', 'True'])

export class ServiceAccount implements AdmissionPlugin {
  readonly name = 'ServiceAccount'
  readonly #lookup: ObjectLookup
  readonly #clock: Clock

  constructor(lookup: ObjectLookup, clock: Clock) {
    this.#lookup = lookup
    this.#clock = clock
  }

  async admit(request: AdmissionRequest): Promise<void> {
    const { object: pod, operation, subresource } = request
    if (pod === undefined || operation !== 'CREATE' || subresource !== '' || !concerns(request, PODS)) return
    const spec = ensureStruct(pod, 'spec')
    if (isMirror(pod)) {
      checkMirror(spec, request)
      return
    }
    const accountName = text(spec, 'serviceAccountName') || text(spec, 'serviceAccount') || defaultAccount
    // Both names of the field are always written alike.
    spec['serviceAccountName'] = accountName
    spec['serviceAccount'] = accountName
    const account = await this.#account(accountName, request)
    if (account === undefined) throw missingAccount(request, accountName, earlyRefusal)
    if (spec['automountServiceAccountToken'] ?? account['automountServiceAccountToken'] ?? true) {
      mountToken(spec, generateName)
    }
    const pullSecrets = structs(account, 'imagePullSecrets').map((reference) => ({ name: text(reference, 'name') }))
    if (structs(spec, 'imagePullSecrets').length === 0 && pullSecrets.length > 0) spec['imagePullSecrets'] = pullSecrets
    checkSecrets(pod, account, request, earlyRefusal)
  }

  validate(request: AdmissionRequest): void {
    const { object: pod, operation, subresource } = request
    if (pod === undefined || !concerns(request, PODS)) return
    const isCreate = operation === 'CREATE' && subresource === ''
    const isDebug = operation === 'UPDATE' && subresource === 'ephemeralcontainers'
    if (!isCreate && !isDebug) return
    const spec = struct(pod, 'spec') ?? {}
    if (isCreate && isMirror(pod)) {
      checkMirror(spec, request)
      return
    }
    const accountName = text(spec, 'serviceAccountName')
    if (accountName === '') {
      throw refusal(request, `no service account specified for pod ${request.namespace}/${request.name}`)
    }
    const account = this.#lookup.find(SERVICE_ACCOUNTS, request.namespace, accountName)
    if (account === undefined) throw missingAccount(request, accountName, refusal)
    if (isCreate) checkSecrets(pod, account, request, refusal)
    else checkDebugSecrets(spec, account, request)
  }

  async #account(name: string, { namespace }: AdmissionRequest): Promise<KubeObject | undefined> {
    const tries = name === defaultAccount ? DEFAULT_ACCOUNT_TRIES : 1
    for (let attempt = 1; ; attempt++) {
      const found = this.#lookup.find(SERVICE_ACCOUNTS, namespace, name)
      if (found !== undefined || attempt === tries) return found
      await this.#clock.sleep(DEFAULT_ACCOUNT_RETRY_MS)
    }
  }
}

type Refuse = (request: AdmissionRequest, why: string) => ApiError

function missingAccount(request: AdmissionRequest, name: string, refuse: Refuse): ApiError {
  const where = `error looking up service account ${request.namespace}/${name}`
  return refuse(request, `${where}: serviceaccount ${goQuote(name)} not found`)
}

function isMirror(pod: KubeObject): boolean {
  return Object.hasOwn(pod.metadata?.annotations ?? {}, MIRROR_ANNOTATION)
}

function checkMirror(spec: Fields, request: AdmissionRequest): void {
  const usesToken = structs(spec, 'volumes')
    .flatMap((volume) => structs(struct(volume, 'projected'), 'sources'))
    .some((source) => struct(source, 'serviceAccountToken') !== undefined)
  if (text(spec, 'serviceAccountName') !== '') {
    throw earlyRefusal(request, 'a mirror pod may not reference service accounts')
  }
  if (referencesSecrets(spec)) throw earlyRefusal(request, 'a mirror pod may not reference secrets')
  if (usesToken) throw earlyRefusal(request, 'a mirror pod may not use ServiceAccountToken volume projections')
}

function enforcesSecrets(account: KubeObject): boolean {
  return trueTexts.has(account.metadata?.annotations?.[enforceAnnotation] ?? '')
}

function checkSecrets(pod: KubeObject, account: KubeObject, request: AdmissionRequest, refuse: Refuse): void {
  const breach = enforcesSecrets(account) ? secretNotAllowed(pod, account) : undefined
  if (breach !== undefined) throw refuse(request, breach)
}

function checkDebugSecrets(spec: Fields, account: KubeObject, request: AdmissionRequest): void {
  const breach = enforcesSecrets(account) ? containerSecretNotAllowed(spec, 'ephemeralContainers', account) : undefined
  if (breach !== undefined) throw refusal(request, breach)
}
