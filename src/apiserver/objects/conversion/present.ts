/** Fields that are there: what a converter found nothing for is left away, not sent as undefined. */
import type { Fields } from '../../kinds/fields.ts'

export function present(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null))
}
