import { describe, expect, it } from 'vitest'
import { parseRequestInfo } from '../../kube/request-info.ts'
import { ApiError } from '../../kube/status/status.ts'
import type { RequestContext } from '../request/handler.ts'
import { routes } from './routes.ts'

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** The methods that get through, or the code of the refusal that all of them meet. */
async function offered(path: string): Promise<string | number> {
  const through: string[] = []
  const codes = new Set<number>()
  for (const method of methods) {
    const info = parseRequestInfo({ method, path })
    try {
      const owned = await Promise.resolve().then(() =>
        routes({ info, exchange: { method } } as unknown as RequestContext),
      )
      expect(owned).toBe(false)
      through.push(method)
    } catch (error) {
      codes.add((error as ApiError).status.code)
      expect(error).toBeInstanceOf(ApiError)
    }
  }
  const [code = 0] = codes
  if (through.length === 0) return code
  if (codes.size > 0) expect([...codes]).toEqual([405])
  return through.join(' ')
}

const all = methods.join(' ')

describe('the methods of a path', () => {
  it.each<[string, string | number]>([
    ['/api/v1/namespaces/n/configmaps', 'GET POST DELETE'],
    ['/api/v1/namespaces/n/configmaps/x', 'GET PUT PATCH DELETE'],
    ['/api/v1/configmaps', 'GET'],
    ['/api/v1/configmaps/x', 404],
    ['/api/v1/nodes', 'GET POST DELETE'],
    ['/api/v1/namespaces/n/nodes', 404],
    ['/api/v1/nodes/x/status', 'GET PUT PATCH'],
    ['/api/v1/namespaces/n', 'GET PUT PATCH DELETE'],
    ['/api/v1/namespaces/n/finalize', 'PUT'],
    ['/api/v1/namespaces/n/pods/x/eviction', 'POST'],
    ['/api/v1/namespaces/n/pods/x/log', 'GET'],
    ['/api/v1/namespaces/n/pods/x/log/more', 404],
    ['/api/v1/namespaces/n/pods/x/proxy/any/path', all],
    ['/api/v1/namespaces/n/bindings', 'POST'],
    ['/api/v1/namespaces/n/unknowns', 404],
    ['/api/v1/namespaces/n/pods/x/unknown', 404],
    ['/api/v1/watch/namespaces/n/pods', 'GET'],
    ['/api/v1/watch/pods', 'GET'],
    ['/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', 'POST'],
    ['/apis/authorization.k8s.io/v1/selfsubjectaccessreviews/x', 404],
    ['/api', 'GET'],
    ['/api/v1', 'GET'],
    ['/api/v2', 404],
    ['/apis', 'GET HEAD'],
    ['/apis/apps', 'GET HEAD'],
    ['/apis/apps/v1', 'GET'],
    ['/apis/apps/v9', 404],
    ['/apis/apps/v9/deployments', 404],
    ['/version', 'GET'],
    ['/openapi/v3', 'GET HEAD'],
  ])('%s: %s', async (path, expected) => {
    expect(await offered(path)).toBe(expected)
  })

  it.each(['/apis/example.com/v1/things', '/apis/example.com/v1', '/apis/example.com', '/nothing', '/'])(
    'leaves %s to others',
    async (path) => {
      expect(await offered(path)).toBe(all)
    },
  )
})
