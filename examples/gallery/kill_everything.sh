# Trains for 20 seconds, and kills a worker, a server and the scheduler in turn, each without a chance to save anything.
steelyard train examples/gallery/kill_everything.toml --run-dir runs/killed &
for process in worker server scheduler; do
  sleep 5
  echo "killing a $process"
  kill -9 $(pgrep --parent $! --full "^steelyard $process" | head -1)
done
wait $!
