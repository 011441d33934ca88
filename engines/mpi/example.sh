#!/bin/sh
# example.sh HOSTFILE JOB NAME: trains JOB with one rank on each machine of HOSTFILE, until it has finished.
#
#   engines/mpi/example.sh machines.txt examples/jobs/fashion_mnist.toml fashion
#
# Results are in runs/NAME. After a preemption (exit code 75) the same command continues the job.
set -u
if [ $# -ne 3 ]; then
  echo "usage: $0 HOSTFILE JOB NAME" >&2
  exit 2
fi
run=runs/$3
mpirun --hostfile "$1" --map-by ppr:1:node --bind-to none --mca odls_base_sigkill_timeout 20 \
  steelyard member "$2" --run-dir "$run" --meet "$run.meet" --grace 20
code=$?
# mpirun has a code of its own if it was stopped.
sed -n 's/.*"exit_code": \([0-9]*\).*/\1/p' "$run/result.json" | {
  read -r verdict || verdict=$code
  exit "$verdict"
}
