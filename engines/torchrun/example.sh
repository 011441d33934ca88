#!/bin/sh
# example.sh MACHINES FIRST JOB NAME: run it on each of MACHINES machines; FIRST is the address of one of them.
#
#   engines/torchrun/example.sh 2 10.0.0.1 train.py digits
#
# Results are in runs/NAME of the machine with rank 0. NAME.keys has a key for each role (docs/operations.md).
set -u
if [ $# -ne 4 ]; then
  echo "usage: $0 MACHINES FIRST JOB NAME" >&2
  exit 2
fi
# Node rank 0, and so task 0, is on FIRST.
exec torchrun --nnodes "$1" --node_rank "${NODE_RANK:?the number of this machine: 0 on $2}" --nproc_per_node 1 \
  --max_restarts 3 --master_addr "$2" --master_port 29500 --no_python \
  steelyard member "$3" --run-dir "runs/$4" --meet "$2:29600" --keys "$4.keys"
