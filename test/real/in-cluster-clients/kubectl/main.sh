#!/bin/sh
# kubectl as an in-cluster program: no kubeconfig, no flag that names a server, a namespace or a credential. It prints one
# JSON object a line; the suite beside it says what the lines mean. The last existing object of the list is `settings`.
set -eu

user=$(kubectl auth whoami -o 'jsonpath={.status.userInfo.username}')
printf '{"step":"identity","user":"%s"}\n' "$user"

quoted='{range .items[*]}"{.metadata.name}",{end}'
names=$(kubectl get pods -o "jsonpath=$quoted")
printf '{"step":"pods","names":[%s]}\n' "${names%,}"

kubectl create configmap own --from-literal=phase=created >/dev/null
kubectl patch configmap own --patch '{"data":{"phase":"updated"}}' >/dev/null
phase=$(kubectl get configmap own -o 'jsonpath={.data.phase}')
kubectl delete configmap own >/dev/null
printf '{"step":"written","phase":"%s"}\n' "$phase"

folder=$(mktemp -d)
mkfifo "$folder/events"
columns='{.type} {.object.metadata.name} {.object.data.phase}{"\n"}'
kubectl get configmaps --watch --output-watch-events -o "jsonpath=$columns" >"$folder/events" &
watch=$!
names=
while read -r type name phase; do
  case "$type $name" in
    'DELETED signal')
      echo '{"step":"gone"}'
      break
      ;;
    *' signal') printf '{"step":"seen","phase":"%s"}\n' "$phase" ;;
    *)
      names="$names\"$name\","
      if [ "$name" = settings ]; then printf '{"step":"watching","names":[%s]}\n' "${names%,}"; fi
      ;;
  esac
done <"$folder/events"
kill "$watch"
rm -r "$folder"
