#!/usr/bin/env bash
# build makes a release in the folder DIST: archives of the program for PLATFORMS without cgo, what each is built from (CycloneDX),
# wheels and checksums. check fails unless the folder has what build would make again, and lists every module that is built in.
# Equal commits give equal bytes: times are those of the commit, and paths of this machine are left out.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go} dist=${DIST:-bin/dist}
platforms=${PLATFORMS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64}
wheels=${WHEELS:-linux/amd64 linux/arm64 darwin/arm64}
version=$(git describe --tags --always --dirty)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

program() { # for GOOS GOARCH in a FILE
  CGO_ENABLED=0 GOOS=$1 GOARCH=$2 "$go" build -trimpath -buildvcs=false \
    -ldflags "-s -w -buildid= -X github.com/clustergym/clustergym/cli.version=$version" -o "$3" ./cmd/clustergym
}

archive() { # of a folder
  tar --sort=name --mtime="@$(git log -1 --format=%ct)" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -cf - -C "$1" . | gzip -n -9
}

build() {
  rm -rf "$dist" && mkdir -p "$dist"
  for platform in $platforms; do
    name=clustergym-$version-${platform%/*}-${platform#*/}
    mkdir -p "$work/$platform/$name" && cp LICENSE README.md CHANGELOG.md "$work/$platform/$name"
    program "${platform%/*}" "${platform#*/}" "$work/$platform/$name/clustergym"
    "$go" run github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0 bin -json -std -noserial -notimestamp \
      -version "$version" -output "$dist/$name.cdx.json" "$work/$platform/$name/clustergym" 2>"$work/log" || { cat "$work/log"; exit 1; }
    archive "$work/$platform" >"$dist/$name.tar.gz"
    echo "$(wc -c <"$dist/$name.tar.gz") bytes: $dist/$name.tar.gz"
  done
  # shellcheck disable=SC2086 # platforms are words
  scripts/wheel.sh $wheels && cp bin/wheels/*.whl "$dist"/
  (cd "$dist" && sha256sum -- *.tar.gz *.json *.whl >SHA256SUMS)
}

check() {
  (cd "$dist" && sha256sum --quiet -c SHA256SUMS)
  os=$("$go" env GOOS) arch=$("$go" env GOARCH)
  name=clustergym-$version-$os-$arch
  tar -xzf "$dist/$name.tar.gz" -C "$work"
  "$work/$name/clustergym" version | grep -qF "clustergym $version " || { echo "$name: wrong version"; exit 1; }
  program "$os" "$arch" "$work/again"
  cmp "$work/again" "$work/$name/clustergym"
  "$go" version -m "$work/again" | awk '$1 == "dep" {print "pkg:golang/" $2 "@" $3}' >"$work/built"
  [ -s "$work/built" ]
  while read -r module; do
    grep -qF "$module" "$dist/$name.cdx.json" || { echo "$name.cdx.json lacks $module"; exit 1; }
  done <"$work/built"
  echo "$name: the same bytes again, and all of its $(wc -l <"$work/built") modules are listed"
}

"$1"
