/**
 * What each in-cluster client asks of an API server, as the audit log has it: a real kube-apiserver that they reach
 * directly wrote these. Spelling differs on purpose: it must arrive as it was sent.
 */
const inNamespace = '/api/v1/namespaces/NAMESPACE'
const reviews = '/apis/authentication.k8s.io/v1/selfsubjectreviews'

/** Lists, writes and asks who it is with bare paths, as all clients do but kubectl; `end` closes each of them. */
function plainRequests(end: string, product: string): string[] {
  return [
    `create ${inNamespace}/configmaps${end} 201${product}`,
    `create ${reviews}${end} 201${product}`,
    `delete ${inNamespace}/configmaps/own${end} 200${product}`,
    `list ${inNamespace}/pods${end} 200${product}`,
    `update ${inNamespace}/configmaps/own${end} 200${product}`,
  ]
}

/** The requests behind the watch of ConfigMaps; each is a verb and a query. */
function watchRequests(product: string, ...requests: readonly [verb: string, query: string][]): string[] {
  return requests.map(([verb, query]) => `${verb} ${inNamespace}/configmaps${query} 200${product}`)
}

const kubectl = [
  `create ${inNamespace}/configmaps?fieldManager=kubectl-create&fieldValidation=Strict 201 kubectl`,
  `create ${reviews} 201 kubectl`,
  `delete ${inNamespace}/configmaps/own 200 kubectl`,
  `get ${inNamespace}/configmaps/own 200 kubectl`,
  // To see that what it deleted is gone.
  `get ${inNamespace}/configmaps/own 404 kubectl`,
  'get /api?timeout=TIME 200 kubectl',
  'get /apis?timeout=TIME 200 kubectl',
  `list ${inNamespace}/configmaps?limit=500 200 kubectl`,
  `list ${inNamespace}/pods?limit=500 200 kubectl`,
  `patch ${inNamespace}/configmaps/own?fieldManager=kubectl-patch 200 kubectl`,
  `watch ${inNamespace}/configmaps?resourceVersion=VERSION&watch=true 200 kubectl`,
]

const watchListQuery =
  '?allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&timeout=TIME&timeoutSeconds=TIME&watch=true'

/** By client; each sorted, and every request once. */
export const expectedRequests: Readonly<Record<string, readonly string[]>> = {
  kubectl,
  go: [...plainRequests('', ' in-cluster-client'), ...watchRequests(' in-cluster-client', ['watch', watchListQuery])],
  python: [
    ...plainRequests('', ' OpenAPI-Generator'),
    ...watchRequests(' OpenAPI-Generator', ['list', ''], ['watch', '?resourceVersion=VERSION&watch=true']),
  ].toSorted(),
  javascript: [
    ...plainRequests('', ' node-fetch'),
    ...watchRequests(' node-fetch', ['list', ''], ['watch', '?watch=true&resourceVersion=VERSION']),
  ].toSorted(),
  java: [
    ...plainRequests('', ' Kubernetes'),
    ...watchRequests(
      ' Kubernetes',
      ['list', '?resourceVersion=0&watch=false'],
      ['watch', '?resourceVersion=VERSION&timeoutSeconds=TIME&watch=true'],
    ),
  ].toSorted(),
  rust: [
    ...plainRequests('?', ''),
    ...watchRequests(
      '',
      ['list', '?&limit=500'],
      ['watch', '?&watch=true&timeoutSeconds=TIME&allowWatchBookmarks=true&resourceVersion=VERSION'],
    ),
  ].toSorted(),
}
