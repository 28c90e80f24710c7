#!/usr/bin/env bash
# Builds the Kubernetes that tests run against into bin/kube, as the go.mod of its module asks. One file is all the programs of
# Kubernetes, by the name it is called by. KWOK is the module's tool; what it is told to do with nodes and pods comes from the folder
# of its module.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go} to=$PWD/bin/kube from=cmd/clustergym-kube/kubeassets
stamp=$to/.built-$(cat $from/{go.mod,go.sum,main.go} | sha256sum | cut -c1-16)
if [ ! -e "$stamp" ]; then
  mkdir -p "$to" && rm -rf "$to"/stages "$to"/.built-*
  version=$("$go" list -C $from -m -f '{{.Version}}' k8s.io/kubernetes)
  "$go" build -C $from -trimpath -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$version" -o "$to/" . tool
  for name in etcd kube-apiserver kube-controller-manager kube-scheduler kubectl helm; do ln -sf kubeassets "$to/$name"; done
  stages=$("$go" list -C $from -m -f '{{.Dir}}' sigs.k8s.io/kwok)/kustomize/stage
  install -D -m 644 -t "$to/stages" "$stages"/{node/fast,node/heartbeat-with-lease,pod/fast}/*-*.yaml
  touch "$stamp"
fi
