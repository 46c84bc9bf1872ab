#!/bin/bash
# Trains both models side by side on one GPU, then compares the decoding methods on the dev problems.
# Usage: both.sh SAMPLES_PER_TASK TRAIN_UNTIL_SECOND OUT   (the tokenizers already lie in models/)
set -u
here=$(dirname "$0"); models=$here/../../models; data=/dev/shm/tiny-data; out=$3
export PYTHONUNBUFFERED=1
until=$(( $(date +%s) + $2 ))
rm -rf $data; mkdir -p $data
python3 $here/prepare.py $models/tiny-dense $data $1 1 &
for kind in dense hybrid; do
  ( python3 $here/train.py $kind --folder $models/tiny-$kind --data $data --seconds 3600 --until $until &&
    cp $models/tiny-$kind/model.safetensors $out/$kind.safetensors &&
    python3 $here/evaluate.py $models/tiny-$kind --pairs --json $out/$kind.json > $out/$kind-dev.txt 2>&1; cat $out/$kind-dev.txt ) &
done
wait
