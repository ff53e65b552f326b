/** What a patch may cost. */
import { MAX_JSON_DEPTH } from '../codec/json.ts'

/** The largest request body that an API server reads. */
export const MAX_PATCH_BYTES = 3 * 1024 * 1024

/** Deeper objects could not be printed again. */
export const MAX_PATCH_DEPTH = MAX_JSON_DEPTH
