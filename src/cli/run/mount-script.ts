/**
 * Shows a program the files of a service account where pods have them, without changing what anybody else sees: a short shell
 * script in a mount namespace of its own. It gets every path as an argument and evaluates nothing.
 *
 * What does not exist cannot be mounted on, and making it would leave traces, or need root. So the nearest folder above that
 * exists, `/run` as a rule, is covered by an empty one in which all its old entries are bound back, and the new one is made there.
 */

/** Where every client library looks. */
export const ACCOUNT_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount'

/**
 * Tools may be missing in the path of the user; the program gets that path as it was. An entry may vanish while it is bound.
 * `mount -n` writes nothing into /run itself.
 */
const prepareScript = `set -eu
files=$1 target=$2 stage=$3 hidden=$4 ids=$5
shift 5
path=\${PATH-}
PATH=$path:/usr/sbin:/usr/bin:/sbin:/bin
fail() {
  echo "$*" >&2
  exit 1
}
base=$target missing=
while [ ! -d "$base" ]; do
  if [ -e "$base" ] || [ -L "$base" ]; then fail "$base is no folder"; fi
  missing=/\${base##*/}$missing
  base=\${base%/*}
  [ -n "$base" ] || fail "there is no folder above $target"
done
if [ -z "$missing" ]; then
  mount -n --bind "$files" "$base"
else
  mount -n -t tmpfs -o mode=755 tmpfs "$stage"
  mount -n --make-unbindable "$stage"
  for old in "$base"/* "$base"/.[!.]* "$base"/..?*; do
    new=$stage/\${old##*/}
    if [ -L "$old" ]; then ln -s "$(readlink "$old")" "$new"
    elif [ -d "$old" ]; then
      mkdir "$new"
      mount -n --rbind "$old" "$new" || [ ! -e "$old" ]
    elif [ -e "$old" ]; then
      : > "$new"
      mount -n --bind "$old" "$new" || [ ! -e "$old" ]
    fi
  done
  mkdir -p "$stage$missing"
  mount -n --bind "$files" "$stage$missing"
  mount -n --move "$stage" "$base"
fi
[ -z "$hidden" ] || mount -n -t tmpfs -o mode=700 tmpfs "$hidden"
if [ -z "$ids" ]; then
  PATH=$path
  exec "$@"
fi
unshare=$(command -v unshare)
PATH=$path
exec "$unshare" --user "--map-user=\${ids%:*}" "--map-group=\${ids#*:}" -- "$@"
`

/** `root`: a mount namespace. `user`: the same inside a user namespace, which takes no privilege where the kernel lets everybody. */
export type NamespaceKind = 'root' | 'user'

export interface Preparation {
  /** The folder with the files. */
  readonly files: string
  /** Where they are to be seen. */
  readonly target: string
  /** An empty folder to build in. */
  readonly stage: string
  /** A folder to hide. */
  readonly hidden: string | undefined
  readonly userId: number
  readonly groupId: number
}

/** The whole command line, of which the program's own follows at the end. */
export function namespaceCommand(kind: NamespaceKind, preparation: Preparation, program: readonly string[]): string[] {
  const { files, target, stage, hidden = '', userId, groupId } = preparation
  // Mounting takes the user who is root in the namespace; a second namespace inside makes the program its own user again.
  const asRoot = kind === 'user' ? ['--user', '--map-root-user'] : []
  const ids = kind === 'user' ? `${userId}:${groupId}` : ''
  return [
    ...['unshare', ...asRoot, '--mount', '--propagation', 'private', '--'],
    ...['/bin/sh', '-c', prepareScript, 'causeway-run', files, target, stage, hidden, ids],
    ...program,
  ]
}
