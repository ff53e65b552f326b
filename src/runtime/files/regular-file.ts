/** Opens files by names that people give: no pipe that waits for its writer without end, no device that never ends. */
import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs'

/** With this flag opening a pipe does not wait for its writer. */
export const READ_WITHOUT_WAITING = constants.O_RDONLY | constants.O_NONBLOCK

/** Throws what to say of anything but a file; `stats` are those of what was opened. */
export function checkIsFile(stats: Pick<Stats, 'isFile' | 'isDirectory'>): void {
  if (stats.isDirectory()) throw new Error('it is a folder')
  if (!stats.isFile()) throw new Error('it is not a regular file')
}

export function readRegularFile(path: string): Buffer {
  const file = openSync(path, READ_WITHOUT_WAITING)
  try {
    checkIsFile(fstatSync(file))
    return readFileSync(file)
  } finally {
    closeSync(file)
  }
}
