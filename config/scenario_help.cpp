#include "config/scenario_file.h"

namespace steelyard {

std::string describe_scenario() {
  return R"(A scenario is a TOML file: a cluster of formulas, and a job for it. Rounds count from 0.

[job]                      what is done
  global_batch = 512         samples in a round, over all workers
  samples_per_epoch = 50000  left out beside rounds: all rounds are one epoch; left out beside train: all
                             samples of the data, and otherwise so many, the first
  epochs = 1                 or rounds = 200; with both, whichever is over first
  seed = 1                   of all that is random
  sync = "bsp"               when a round is over; or ssp:S, asp, local:H, oneshot:epoch, oneshot:end
  policy = "steelyard"       who divides the batch; also "oracle", which knows the true curves
  train = false              true: real gradients, so that accuracy against virtual time comes out; then also
  model = "lenet5"           and data = "fashion-mnist", optimizer, momentum, weight_decay, lr, schedule,
                             warmup, step_epochs, step_factor, final_lr, clip_norm, evaluate_every,
                             target_accuracy, as in a job file (steelyard help job)
[model]                    options of the model, and
[data]                     of the data set, beside train = true
[policy.lbb]               options of a policy, as in a job file
[network]                  how long the exchange takes
  step_ms = 0                so long in every round; or
  recorded = "FILE.jsonl"    the median of a run's rounds; or, not beside these two,
  latency_ms = 0             of every message, and
  bandwidth_gbps = 10        of each worker's link; left out: transfers take no time
  model_mb = 45              millions of bytes that go each way in a round; with bandwidth_gbps
  servers = 1                parts of the model
  heartbeat_s = 0.5          seconds between signs of life; left out: longer for more than 100 workers
[[worker]]                 one for each
  name = "worker-0"
  count = 1                  so many of them: NAME-0, NAME-1, ...
  kind = "cpu"               or "gpu"; policies that read CPU shares see those of CPU workers
  time_ms = [5.9, 0.593]     polynomial in the batch size, low order first; or
  samples_per_s = 1600       or
  profile = "FILE.json"      what steelyard profile measured; or
  recorded = "FILE.jsonl"    the rounds.jsonl of a run: each round takes what it took there, and
  recorded_worker = "half"   whose rounds; left out: of the worker of this name
  max_batch = 0              samples that fit its memory at once; 0: no limit
  memory_mb = 16000          what the machine has; CPU workers report what is free of it; left out: nothing
  noise = 0                  relative standard deviation of one compute time
  trace = "FILE.csv"         time_s,speed or time_s,cpu: how fast it is at what time, step by step
[[event]]                  what disturbs it
  worker = "worker-0"        left out: all, each with draws of its own
  from_round = 0             the first with it
  to_round = 65              the first without it; left out: it stays
  add_ms = 50                to the time of every batch
  scale = 2.0                times the worker's own time
  cpu = 0.3                  share of it left by a co-tenant: its own time is divided by that
  memory = 0.3               share of memory_mb left by a co-tenant: reported; changes no time by itself
  network = 3.0              times its exchange
  kill = true                dies in from_round; comes back for to_round if that is given
  join = true                is not there before from_round, and then stays
  cut = true                 its connections break, once; these three have no shape, and one event each
  unforeseen = true          the oracle does not know of it: it counts as noise
  shape = "step"             all of it from from_round to to_round; or
          "ramp"               grows from from_round to to_round, and stays
          "periodic"           period = 80, length = 40: so many rounds of every period
          "bursty"             mean_gap = 40, mean_length = 30: random rounds without and with it
          "random_walk"        deviation = 0.02, lowest = 0.25, highest = 4: the time is multiplied by a walk
)";
}

}  // namespace steelyard
