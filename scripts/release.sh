#!/usr/bin/env bash
# Trains the released policy by its recipe, from scratch or on from where a run was stopped, and puts it in place: what the program
# embeds is replaced only by a run that has ended, and a run by another recipe is refused. With smoke as argument it only tries these
# steps on a small scenario.
set -euo pipefail
cd "$(dirname "$0")/.."
to=checkpoints/released run=runs/release more=()
if [ "${1:-}" = smoke ]; then
  run=runs/release-smoke more=(--scenario embedded-small-v1 --updates 2 --set train.expert=2)
  rm -rf $run
fi
[ ! -e $run/run.yaml ] || more+=(--resume)
bin/clustergym train --config $to/recipe.yaml --dir $run "${more[@]}"
bin/clustergym export --run $run --name released
if [ "${1:-}" = smoke ]; then
  exec bin/clustergym eval --scenario embedded-small-v1 --windows 1 --seeds 1 --policies prior,$run/policy \
    --baseline prior --figures none --out $run/eval
fi
cp $run/policy/{manifest.json,weights.safetensors,policy.onnx,README.md} $to/
"${GO:-go}" test ./$to
make build
