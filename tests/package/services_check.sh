# Runs inside the container of services_test.py, with -e: any failed command is the verdict.
keys=/etc/steelyard/keys
job=/usr/share/steelyard/jobs/quick.toml
home=/var/lib/steelyard

as_steelyard() { setpriv --reuid=steelyard --regid=steelyard --clear-groups "$@"; }

# within SECONDS COMMAND...: repeats the command until it succeeds.
within() {
  set +x
  local left=$1
  shift
  until "$@" >/dev/null 2>&1; do
    left=$((left - 1))
    [ "$left" -gt 0 ]
    sleep 1
  done
  set -x
}

# restarts UNIT N: whether systemd has restarted it N times at least.
restarts() { [ "$(systemctl show --property=NRestarts --value "$1")" -ge "$2" ]; }

# start_job NAME ENDPOINTS: a scheduler and two servers, as an administrator starts them by hand.
start_job() {
  as_steelyard steelyard scheduler "$job" --set train.epochs=2000 --listen 127.0.0.1:7070 --keys $keys \
    --run-dir "$home/$1" >"/var/tmp/$1.log" 2>&1 &
  for n in 1 2; do
    as_steelyard steelyard server --scheduler "$2" --name "server-$n" --keys $keys >"/var/tmp/$1.server-$n.log" 2>&1 &
  done
}

for role in scheduler server worker; do as_steelyard steelyard keys new $keys $role; done
[ "$(stat --format='%U %a' $keys/*.key | sort -u)" = 'steelyard 600' ]
install -d -o steelyard -g steelyard $home

# Workers take part in a job. One that was killed is restarted, and takes part again.
sed -i 's/^#STEELYARD_SCHEDULER=.*/STEELYARD_SCHEDULER=127.0.0.1:7070,127.0.0.1:7071/' /etc/steelyard/worker.conf
echo 'OPTIONS=--max-batch 200' >/etc/steelyard/worker-1.conf
systemctl start steelyard-worker@0 steelyard-worker@1
start_job first 127.0.0.1:7070
within 60 grep -q '"round"' $home/first/rounds.jsonl
systemctl kill --signal=KILL steelyard-worker@0
within 60 restarts steelyard-worker@0 1
within 60 sh -c "journalctl --unit=steelyard-worker@0 | grep -c 'joined job .quick.' | grep -qx 2"
within 60 sh -c "journalctl --unit=steelyard-worker@1 | grep -q 'through shared memory'"

# The end of a job is not the end of a worker: it looks for the next one.
kill -s TERM "$(cat $home/first/lock)"
within 60 test -e $home/first/result.json
within 60 restarts steelyard-worker@1 1

# A standby leads the next job after its scheduler was killed.
sed -i -e 's/^#STEELYARD_SCHEDULER=.*/STEELYARD_SCHEDULER=127.0.0.1:7070/' -e 's/0\.0\.0\.0:7070/127.0.0.1:7071/' \
  /etc/steelyard/standby.conf
start_job second 127.0.0.1:7070,127.0.0.1:7071
systemctl start steelyard-standby
within 60 grep -q 'a standby follows the scheduler' /var/tmp/second.log
kill -s KILL "$(cat $home/second/lock)"
within 60 sh -c "journalctl --unit=steelyard-standby | grep -q 'leading the job now'"
within 60 grep -q '"round"' $home/runs/quick-1/rounds.jsonl

# A stop leaves the job; it is no failure. A standby that leads saves a checkpoint.
systemctl stop steelyard-standby
systemctl stop 'steelyard-worker@*'
grep -q '"outcome": "interrupted"' $home/runs/quick-1/result.json
for unit in steelyard-standby steelyard-worker@0 steelyard-worker@1; do
  [ "$(systemctl show --property=Result --value $unit)" = success ]
done

# A key that others can read needs an administrator: the worker fails with its reason, and is not restarted.
chmod 644 $keys/worker.key
systemctl start steelyard-worker@2 || true
within 60 systemctl is-failed steelyard-worker@2
restarts=$(systemctl show --property=NRestarts --value steelyard-worker@2)
[ "$restarts" -eq 0 ]
journalctl --unit=steelyard-worker@2 | grep 'can be read by others'
journalctl --unit=steelyard-worker@0 --unit=steelyard-standby
echo passed
