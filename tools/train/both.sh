#!/bin/bash
# Trains both models side by side on one GPU, then compares the decoding methods on dev problems.
# Usage: both.sh SAMPLES_PER_TASK DATA_SEED DENSE_UNTIL HYBRID_UNTIL OUT [fresh]
# Times are seconds from now. Training continues from the weights in models/, or with `fresh` starts from random ones; the
# tokenizer must already be there. OUT receives the weights and the tables.
set -u
here=$(dirname "$0"); models=$here/../../models; data=/dev/shm/tiny-data; out=$5
export PYTHONUNBUFFERED=1
now=$(date +%s)
rm -rf $data; mkdir -p $data
python3 $here/prepare.py $models/tiny-dense $data $1 $2 &
fresh=${6:-}
train() {
  local start="--start $models/tiny-$1"
  [ "$fresh" = fresh ] && start=""
  python3 $here/train.py $1 --folder $models/tiny-$1 $start --data $data --seconds 3600 --until $2 --seed $3 &&
    cp $models/tiny-$1/model.safetensors $out/$1.safetensors
}
train dense $(( now + $3 )) 1 & dense=$!
train hybrid $(( now + $4 )) 2 & hybrid=$!
wait $dense $hybrid
for kind in dense hybrid; do
  python3 $here/evaluate.py $models/tiny-$kind --count 120 --pairs > $out/$kind-dev.txt 2>&1 &
done
wait
