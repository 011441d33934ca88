#!/bin/bash
# A batch script for Slurm, rendered by
#   steelyard render slurm engines/kubernetes/hosts.toml examples/jobs/quick.toml
#SBATCH --job-name=quick
#SBATCH --output=quick-%j.log
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --signal=B:USR1@60
# card
#SBATCH --nodes=2
#SBATCH --ntasks=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=4
#SBATCH --mem=16G
#SBATCH --gpus-per-node=1
#SBATCH hetjob
# old
#SBATCH --nodes=4
#SBATCH --ntasks=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --mem=8G

# The same directory each time the job is started: it resumes there.
run=runs/quick-$SLURM_JOB_ID
again=()
if compgen -G "$run/checkpoints/*/MANIFEST.json" >/dev/null; then
  again=(--resume)
  rm -f "$run/result.json"
elif [ -e "$run" ]; then # ended before the first checkpoint: begins again
  mv "$run" "$run-begun-${SLURM_RESTART_COUNT:-0}"
fi

steelyard launch --hosts slurm --set cluster.servers=2 --run-dir "$run" "${again[@]}" examples/jobs/quick.toml &
launcher=$!
trap 'kill -TERM $launcher' TERM USR1
until wait $launcher; code=$?; ! kill -0 $launcher 2>/dev/null; do :; done

# The verdict: the exit code may be that of a task that was killed and restarted.
verdict=$(sed -n 's/.*"exit_code": *\([0-9]*\).*/\1/p' "$run/result.json" 2>/dev/null | head -n 1)
code=${verdict:-$code}
echo "steelyard: code $code"
# 75: stopped, and can go on. Slurm itself does not put a job back into the queue that ends within the
# GraceTime of a preemption, or before its time limit. A job that its user cancels is running no more.
if [ "$code" -eq 75 ] && scontrol show job "$SLURM_JOB_ID" | grep -q JobState=RUNNING; then
  scontrol requeue "$SLURM_JOB_ID" && exit 0
fi
exit "$code"
