/**
 * Random tests are the same every time: a change must not fail for what it did not touch. The long run is where new seeds
 * are tried.
 */
import * as fc from 'fast-check'

const seed = 20_261_115

if (process.env['CAUSEWAY_LONG'] !== '1') fc.configureGlobal({ seed })
