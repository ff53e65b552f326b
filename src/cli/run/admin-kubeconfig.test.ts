import { describe, expect, it } from 'vitest'
import { adminKubeconfigOf } from './admin-kubeconfig.ts'

const failing = (code: string, exceptFor?: string) => (path: string) => {
  if (path !== exceptFor) throw Object.assign(new Error(code), { code })
}

describe('the kubeconfig of an administrator', () => {
  it('is the one of the folder', () => {
    expect(adminKubeconfigOf('/data', () => {})).toBe('/data/admin.kubeconfig')
  })

  it('is told apart: missing, or not for this user to see', () => {
    expect(() => adminKubeconfigOf('/data', failing('ENOENT', '/data'))).toThrow('there is no /data/admin.kubeconfig')
    expect(() => adminKubeconfigOf('/data', failing('ENOENT'))).toThrow(/^there is no folder \/data: .*--data-dir$/)
    expect(() => adminKubeconfigOf('/data', failing('EACCES'))).toThrow('you may not look into /data')
  })
})
