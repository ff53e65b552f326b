/**
 * Hands the view of one run of the edge to the next: clients that listed through the one resume their watches at the other.
 * Losing it costs at most what clients see until they list anew, so no failure here keeps the edge from running.
 */
import { join } from 'node:path'
import type { Part, RunningPart } from '../../process/lifecycle.ts'
import { readFileBounded, writeFileAtomically } from '../../runtime/files/atomic-file.ts'
import { diskOperations, type FileOperations } from '../../runtime/files/file-operations.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { type FilterView, readView, type ViewBefore, writeView } from './filter-view.ts'

/** Many times what the names of all filters take. */
export const MAX_FILTER_VIEW_BYTES = 64 * 1024

export interface FilterViewFileOptions {
  readonly dataDir: string
  readonly logger: Logger
  readonly files?: FileOperations
}

export class FilterViewFile implements Part {
  readonly name = 'filter-view'
  readonly #path: string
  readonly #logger: Logger
  readonly #files: FileOperations
  #before: ViewBefore
  /** What is on disk, as far as is known. */
  #written: string | undefined
  #writing: Promise<void> = Promise.resolve()

  constructor({ dataDir, logger, files = diskOperations }: FilterViewFileOptions) {
    this.#path = join(dataDir, 'filter-view.json')
    this.#logger = logger
    this.#files = files
  }

  /** What the run before has left; stays the same for the whole of this one. */
  get before(): ViewBefore {
    return this.#before
  }

  async start(): Promise<RunningPart> {
    try {
      const bytes = await readFileBounded(this.#path, { files: this.#files, maxBytes: MAX_FILTER_VIEW_BYTES })
      this.#written = bytes?.toString('utf8')
      this.#before = this.#written === undefined ? undefined : readView(this.#written)
    } catch (error) {
      this.#before = 'unreadable'
      this.#logger.warn({ err: error }, 'the view of the run before could not be read')
    }
    if (this.#before === 'unreadable')
      this.#logger.warn({ file: this.#path }, 'the view of the run before is not known: clients that resume list anew')
    return { stop: () => this.#writing }
  }

  /** Writes follow one another; each that says nothing new is left out. */
  write(view: FilterView): void {
    this.#writing = this.#writeAfter(this.#writing, writeView(view))
  }

  async #writeAfter(others: Promise<void>, text: string): Promise<void> {
    await others
    if (text === this.#written) return
    try {
      await writeFileAtomically(this.#path, text, { files: this.#files })
      this.#written = text
    } catch (error) {
      this.#logger.error(
        { err: error },
        'the view of the filters could not be written: clients may miss a change of it',
      )
    }
  }
}
