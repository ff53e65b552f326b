/** Options of log, exec, attach and port forwarding, in the words that a kubelet knows. */
import { formatQuery, type RequestQuery } from '../../../kube/request-query.ts'

/** From the name of an option to the kubelet's name; it takes `1` for the streams, and the others as they are. */
const streamNames = { stdin: 'input', stdout: 'output', stderr: 'error', tty: 'tty' } as const
const logFlags = ['follow', 'previous', 'timestamps']
const logValues = ['sinceSeconds', 'sinceTime', 'tailLines', 'limitBytes']

export function kubeletQuery(subresource: string, query: RequestQuery): string {
  const wanted: [name: string, value: string][] = []
  const copy = (name: string): void => {
    for (const value of query.all(name)) wanted.push([name, value])
  }
  if (subresource === 'log') {
    for (const name of logFlags) if (query.isSet(name)) wanted.push([name, 'true'])
    for (const name of logValues) copy(name)
  } else if (subresource === 'portforward') {
    for (const value of query.all('ports')) wanted.push(['port', value])
  } else {
    for (const [name, kubeletName] of Object.entries(streamNames)) {
      if (isOn(name, query)) wanted.push([kubeletName, '1'])
    }
    if (subresource === 'exec') copy('command')
  }
  return formatQuery(wanted)
}

/** Output is wanted unless the client says otherwise; input and a terminal only where it asks. */
function isOn(name: string, query: RequestQuery): boolean {
  return query.has(name) ? query.isSet(name) : name === 'stdout' || name === 'stderr'
}
