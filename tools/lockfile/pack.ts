/**
 * `prepack` writes npm-shrinkwrap.json and `postpack` removes it: in the working tree npm would prefer it to
 * package-lock.json.
 */
import { rmSync } from 'node:fs'
import { readLock, shrinkwrapFile, writeLock } from './lock.ts'
import { shrinkwrapOf } from './shrinkwrap.ts'

const [action] = process.argv.slice(2)
if (action === 'write') writeLock(shrinkwrapFile, shrinkwrapOf(readLock()))
else if (action === 'remove') rmSync(shrinkwrapFile, { force: true })
else throw new Error('usage: pack.ts write|remove')
