/** A few bytes that outlive the process. What they are is the business of who keeps them here, and where, of who made this. */

export interface Kept {
  /** `undefined` where nothing was kept, or it was damaged. */
  load(): Promise<Uint8Array | undefined>
  /** Resolves when it is on disk; rejects where it could not be, and then what was kept before is still there. */
  save(bytes: Uint8Array): Promise<void>
}
