/** Options of log, exec, attach and port forwarding, in the words that a kubelet knows. */

/** From the name of an option to the kubelet's name; it takes `1` for the streams, and the others as they are. */
const streamNames = { stdin: 'input', stdout: 'output', stderr: 'error', tty: 'tty' } as const
const logFlags = ['follow', 'previous', 'timestamps']
const logValues = ['sinceSeconds', 'sinceTime', 'tailLines', 'limitBytes']

export function kubeletQuery(subresource: string, query: URLSearchParams): URLSearchParams {
  const wanted = new URLSearchParams()
  const copy = (name: string): void => {
    for (const value of query.getAll(name)) wanted.append(name, value)
  }
  if (subresource === 'log') {
    for (const name of logFlags) if (isTrue(query.get(name))) wanted.append(name, 'true')
    for (const name of logValues) copy(name)
  } else if (subresource === 'portforward') {
    for (const value of query.getAll('ports')) wanted.append('port', value)
  } else {
    for (const [name, kubeletName] of Object.entries(streamNames)) {
      if (isOn(name, query)) wanted.append(kubeletName, '1')
    }
    if (subresource === 'exec') copy('command')
  }
  return wanted
}

/** Output is wanted unless the client says otherwise; input and a terminal only where it asks. */
function isOn(name: string, query: URLSearchParams): boolean {
  const value = query.get(name)
  return value === null ? name === 'stdout' || name === 'stderr' : isTrue(value)
}

/** How API servers read flags in a query: present is true, unless it says the opposite. */
function isTrue(value: string | null): boolean {
  return value !== null && !['false', '0'].includes(value.toLowerCase())
}
