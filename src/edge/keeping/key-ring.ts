/** Gets the key for secrets: reads it at the start, makes one of our own before the first writing, and says what is wrong. */
import type { Random } from '../../runtime/random.ts'
import { makeOwnKey, type ReplicaKey, readOutsideKey, readOwnKey } from './replica-key.ts'
import { SecretBox } from './secret-box.ts'

export interface KeyRingOptions {
  /** Our own key. */
  readonly ownFile: string
  /** A key from outside instead. */
  readonly outsideFile: string | undefined
  readonly random: Random
}

export class KeyRing {
  readonly #options: KeyRingOptions
  #box: SecretBox | undefined
  #problem: string | undefined

  constructor(options: KeyRingOptions) {
    this.#options = options
  }

  get box(): SecretBox | undefined {
    return this.#box
  }

  /** A sentence, if there is no key, or there was a bad one. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** Before anything is decrypted. */
  async read(): Promise<void> {
    const { ownFile, outsideFile } = this.#options
    this.#take(outsideFile === undefined ? await readOwnKey(ownFile) : await readOutsideKey(outsideFile))
  }

  /** Before anything is encrypted. A key from outside may have come meanwhile. */
  async prepare(): Promise<void> {
    if (this.#box !== undefined) return
    const { ownFile, outsideFile, random } = this.#options
    if (outsideFile !== undefined) return await this.read()
    try {
      this.#take({ material: await makeOwnKey(ownFile, random), problem: undefined })
    } catch (error) {
      this.#take({ material: undefined, problem: `${(error as Error).message}; secrets are not kept` })
    }
  }

  /** After everything was erased: our own key is gone then. */
  forget(): void {
    this.#box = undefined
  }

  #take({ material, problem }: ReplicaKey): void {
    this.#box = material && new SecretBox(material, this.#options.random)
    this.#problem = problem
  }
}
