/**
 * Every role that has a configuration. A new role is one file beside this one and one line here.
 */
import { apiServerRole } from './apiserver.ts'
import { edgeRole } from './edge.ts'
import { hubRole } from './hub.ts'
import type { Role } from './option.ts'
import { upRole } from './up.ts'

export const ROLES: readonly Role[] = [upRole, apiServerRole, hubRole, edgeRole]
