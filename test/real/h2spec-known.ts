/**
 * Cases of h2spec that our HTTP/2 engine fails, and why that may stay so. h2spec was written for RFC 7540; where RFC 9113, which
 * is in its place, says something else, that is what counts. Each must still fail, so that the list does not outlive what it is
 * about.
 */
export interface KnownFailure {
  /** As the report names it: part and section. */
  readonly section: string
  readonly title: string
  readonly why: string
}

const selfDependency =
  'RFC 9113 (5.3.2) has taken the priorities of RFC 7540 out, and with them the rule that no stream depends on itself. We order ' +
  'nothing by them, so such advice is as void as any other'

export const KNOWN_FAILURES: readonly KnownFailure[] = [
  {
    section: 'http2/5.3.1',
    title: 'Sends HEADERS frame that depend on itself',
    why: `${selfDependency}; breaking off a request for it would help nobody.`,
  },
  {
    section: 'http2/5.3.1',
    title: 'Sends PRIORITY frame that depend on itself',
    why: `${selfDependency}. The stream is idle besides, and must not be reset (6.4): a client would have to end the connection.`,
  },
]
