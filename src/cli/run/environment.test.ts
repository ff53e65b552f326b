import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { folderToHide, kubeconfigEnvironment, podEnvironment } from './environment.ts'

const endpoint = { host: '169.254.30.10', port: 10_550 }
const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

describe('the environment of the program', () => {
  it('is ours, with the endpoint as pods find it and without a kubeconfig', () => {
    expect(podEnvironment({ HOME: '/h', KUBECONFIG: '/k', KUBERNETES_SERVICE_HOST: '10.0.0.1' }, endpoint)).toEqual({
      HOME: '/h',
      KUBERNETES_SERVICE_HOST: '169.254.30.10',
      KUBERNETES_SERVICE_PORT: '10550',
      KUBERNETES_SERVICE_PORT_HTTPS: '10550',
    })
  })

  it('is ours with another kubeconfig where that is asked for', () => {
    expect(kubeconfigEnvironment({ HOME: '/h', KUBECONFIG: '/k' }, '/new', 'x')).toEqual({
      HOME: '/h',
      KUBECONFIG: '/new',
    })
  })

  it('keeps a proxy away from the endpoint', () => {
    const proxied = podEnvironment({ https_proxy: 'http://p', NO_PROXY: 'a.example' }, endpoint)
    expect(proxied).toMatchObject({ NO_PROXY: 'a.example,169.254.30.10', no_proxy: 'a.example,169.254.30.10' })
    expect(kubeconfigEnvironment({ HTTPS_PROXY: 'http://p' }, '/k', 'h')).toMatchObject({
      NO_PROXY: 'h',
      no_proxy: 'h',
    })
  })

  it('hides a kubeconfig of the user, if there is one', () => {
    const home = mkdtempSync(join(tmpdir(), 'causeway-home-'))
    folders.push(home)
    expect(folderToHide({ HOME: home })).toBeUndefined()
    mkdirSync(join(home, '.kube'))
    expect(folderToHide({ HOME: home })).toBeUndefined()
    writeFileSync(join(home, '.kube/config'), '')
    expect(folderToHide({ HOME: home })).toBe(join(home, '.kube'))
    expect(folderToHide({})).toBeUndefined()
  })
})
