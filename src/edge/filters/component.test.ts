import { describe, expect, it, vi } from 'vitest'
import { parseRequestInfo } from '../../kube/request-info.ts'
import { EMPTY_QUERY } from '../../kube/request-query.ts'
import { Components, claimedComponent } from './component.ts'

const components = new Components(() => 'causeway-system')

function request(user: string | undefined, userAgent: string, isNode = false) {
  const info = parseRequestInfo({ method: 'GET', path: '/api/v1/services' })
  return { info, query: EMPTY_QUERY, caller: 'test', isNode, userAgent, identify: vi.fn(async () => user) }
}

describe('the claimed component', () => {
  it.each([
    ['kube-proxy/v1.36.0 (linux/amd64) kubernetes/abc', 'kube-proxy'],
    ['Kubelet/v1.36.0', 'kubelet'],
    ['curl', 'curl'],
    ['', ''],
    ['/x', ''],
    ['x'.repeat(10_000), ''],
  ])('of %j is %j', (userAgent, component) => {
    expect(claimedComponent(userAgent)).toBe(component)
  })
})

describe('components', () => {
  it.each([
    'system:serviceaccount:causeway-system:kube-proxy',
    'system:serviceaccount:kube-system:kube-proxy',
    'system:kube-proxy',
  ])('are known by the user %s, whatever the User-Agent says', async (user) => {
    expect(await components.of(request(user, 'kubelet/v1.36'), () => true)).toEqual({
      component: 'kube-proxy',
      isVerified: true,
    })
  })

  it('are known by the namespace of the hub as it is now', async () => {
    let namespace = 'causeway-system'
    const moving = new Components(() => namespace)
    const asked = request('system:serviceaccount:edges:kube-proxy', 'x/1')
    expect((await moving.of(asked, () => true)).component).toBe('x')
    namespace = 'edges'
    expect(await moving.of(asked, () => true)).toEqual({ component: 'kube-proxy', isVerified: true })
  })

  it("are the kubelet by the node's certificate, without a question", async () => {
    const asked = request('system:kube-proxy', 'kube-proxy/v1.36', true)
    expect(await components.of(asked, () => true)).toEqual({ component: 'kubelet', isVerified: true })
    expect(asked.identify).not.toHaveBeenCalled()
  })

  it.each(['system:serviceaccount:default:kube-proxy', 'system:serviceaccount:causeway-system:kube-proxy2', undefined])(
    'are what the User-Agent says where the user is %s',
    async (user) => {
      expect(await components.of(request(user, 'coredns/1'), () => true)).toEqual({
        component: 'coredns',
        isVerified: false,
      })
    },
  )

  it('are not asked for where no answer matters', async () => {
    const asked = request('system:kube-proxy', 'coredns/1')
    const asker = await components.of(asked, (component) => component === 'kubelet')
    expect(asker).toEqual({ component: 'coredns', isVerified: false })
    expect(asked.identify).not.toHaveBeenCalled()
  })
})
