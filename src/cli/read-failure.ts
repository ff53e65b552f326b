/** What to tell people of a file that could not be read. */
import { NotRegularFileError } from '../runtime/files/regular-file.ts'

const things = {
  folder: 'a folder, not a file',
  link: 'a link, not a file',
  special: 'a pipe, a socket or a device, not a file',
} as const

/** Completes the sentence "it is ...". */
export function describeNoFile({ kind }: NotRegularFileError): string {
  return things[kind]
}

/** Completes the sentence "cannot be read: ...". */
export function explainReadFailure(error: unknown): string {
  if (error instanceof NotRegularFileError) return `it is ${describeNoFile(error)}`
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return 'there is no such file'
  if (code === 'ENOTDIR') return 'a part of the path is a file'
  if (code === 'EACCES') return 'this user may not read it'
  return message
}
