#!/usr/bin/env bash
# build makes the documentation as a site in bin/site, and fails on a broken link. check looks at it in Chromium: no request, no page
# too wide, contrast, labels, keyboard, search; SITE_PAGES=all looks at every page.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go} venv=bin/site-venv
export SITE_NODE=$PWD/bin/site-node/node_modules SITE_SIMULATOR=$PWD/bin/site-simulator NO_MKDOCS_2_WARNING=1
stamp=$venv/.made-$(cat site/requirements.txt site/package.json | sha256sum | cut -c1-16)
if [ ! -e "$stamp" ]; then
  rm -rf $venv && "${PYTHON:-python3}" -m venv $venv
  $venv/bin/pip install -q -r site/requirements.txt
  rm -rf bin/site-node && mkdir -p bin/site-node && cp site/package.json bin/site-node/
  (cd bin/site-node && npm install --ignore-scripts --no-audit --no-fund --silent)
  touch "$stamp"
fi
mkdir -p "$SITE_SIMULATOR" && cp "$("$go" env GOROOT)/lib/wasm/wasm_exec.js" "$SITE_SIMULATOR"/
GOOS=js GOARCH=wasm "$go" build -trimpath -buildvcs=false -ldflags '-s -w -buildid=' -o "$SITE_SIMULATOR/simulator.wasm" ./cmd/clustergym-browser
$venv/bin/mkdocs build -q --strict -f site/mkdocs.yml
echo "site: bin/site/index.html"
[ "$1" != check ] || CHROMIUM=$(command -v chromium) node site/check.mjs bin/site bin/site-pictures
