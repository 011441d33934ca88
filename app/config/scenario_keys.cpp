#include "app/config/scenario_keys.h"

#include "core/device_name.h"
#include "protocol/node.h"
#include "protocol/sync_mode.h"

namespace steelyard {
namespace {

constexpr double most_count = 1e9, no_limit = 1e15;

std::vector<Key> keys_of_the_job(ScenarioDraft& draft) {
  sim::Scenario& it = draft.scenario;
  return {
      {"global_batch", &it.global_batch, Limits::wide(1, most_count), "samples per round, over all workers"},
      {"grain", &it.grain, Limits::wide(1, most_count),
       "shares are multiples of this many samples, as models with batch norm need; with train, the model's "
       "own grain is used"},
      {"samples_per_epoch", &it.samples_per_epoch, Limits::wide(1, no_limit),
       "with train, the first this many samples of the data are used; default with train: all of them; "
       "default with rounds: all rounds are one epoch"},
      {"epochs", &it.epochs, Limits::wide(1, 1e6),
       "or give rounds; with both, the first limit reached ends it"},
      {"rounds", &it.rounds, Limits::wide(1, 1e7), "default: no limit", "200"},
      {"seed", &it.seed, Limits::wide(0, no_limit), "seed of all random numbers"},
      {"sync", &it.sync, Limits::text(is_sync, "one of " + sync_choices()),
       "sync mode, that is when a round ends: steelyard help sync"},
      {"policy", &it.policy, Limits::one_of(draft.policies),
       "policy that divides the batch: steelyard help policy; oracle knows the true curves"},
      {"readings", &draft.readings, Limits::one_of(sim::readings_names()),
       "which CPU share and free memory of a CPU worker are known before a round: late: the mean of the "
       "round "
       "before; barrier: at the end of the round before; oracle: the mean of the coming round"},
      {"train", &draft.train, Limits::any(),
       "true: compute real gradients, to get accuracy against virtual time"},
  };
}

std::vector<Key> keys_of_the_network(ScenarioDraft& draft) {
  sim::NetworkOptions& it = draft.scenario.network;
  return {
      {"step_ms", &it.step_ms, Limits::wide(0, most_count), "exchange time of every round", "95",
       "exchange time: a number (one of the next two), or computed from the links"},
      {"recorded", &draft.recorded, Limits::any(),
       "rounds.jsonl of a run: use the median time of its rounds beyond computing", "\"FILE.jsonl\""},
      {"latency_ms", &it.latency_ms, Limits::wide(0, most_count), "latency of every message", "",
       "links; not with either of those two"},
      {"bandwidth_gbps", &it.bandwidth_gbps, Limits::wide(1e-6, most_count),
       "bandwidth of each worker's link; needs model_mb; default: transfers take no time", "10"},
      {"model_mb", &it.model_mb, Limits::wide(0, most_count),
       "megabytes sent each way in a round; needs bandwidth_gbps", "45"},
      {"push", &draft.push_encoding, Limits::one_of(float_code_names()),
       "encoding of gradients, as push_encoding in a job file"},
      {"pull", &draft.pull_encoding, Limits::one_of(float_code_names()),
       "encoding of parameter changes, as pull_encoding in a job file"},
      {"servers", &draft.scenario.servers, Limits::at_least(1, 64), "shards of the model", "", "in any case"},
      {"heartbeat_s", &draft.scenario.heartbeat_s, Limits::wide(0.001, 1e6),
       "seconds between heartbeats; default: 0.5, and longer for more than 100 workers", "0.5"},
  };
}

std::vector<Key> keys_of_the_servers(ScenarioDraft& draft) {
  sim::ServerTimes& it = draft.scenario.server_times;
  return {
      {"push_ms", &it.push_ms, Limits::wide(0, most_count),
       "time to receive and add one push of the whole model; n servers take 1/n of it each"},
      {"update_ms", &it.update_ms, Limits::wide(0, most_count),
       "time of one optimizer step over the whole model; n servers take 1/n of it each"},
  };
}

std::vector<Key> keys_of_a_worker(ScenarioDraft::Worker& it) {
  return {
      {"name", &it.device.name, Limits::text(valid_name, name_expected()), "default: worker-0, worker-1, ...",
       "\"worker-0\""},
      {"count", &it.count, Limits::wide(1, most_simulated_workers),
       "number of such workers: NAME-0, NAME-1, ...; default: one, called NAME", "3"},
      {"kind", &it.kind, Limits::one_of(device_kinds()), "only CPU workers report CPU shares to policies"},
      {"max_batch", &it.device.max_batch, Limits::wide(0, no_limit),
       "most samples that fit in its memory; a larger share is computed in several turns; 0: no limit"},
      {"latency_ms", &it.device.latency_ms, Limits::wide(0, most_count), "latency of its own link", "20",
       "its own link, if it differs from the network's"},
      {"bandwidth_gbps", &it.device.bandwidth_gbps, Limits::wide(1e-6, most_count),
       "bandwidth of its own link", "0.01"},
      {"memory_mb", &it.device.memory_mb, Limits::wide(1, no_limit),
       "memory of the machine; CPU workers report how much of it is free; default: not reported", "16000"},

      {"time_ms", &it.device.time_ms, Limits::list(-Limits::infinity, 16),
       "polynomial in the batch size, low order first", "[5.9, 0.593]",
       "compute time of a batch: exactly one of the next four"},
      {"samples_per_s", &it.samples_per_s, Limits::wide(1e-6, 1e12), "speed, the same for all batch sizes",
       "1600"},
      {"profile", &it.profile, Limits::any(), "output file of steelyard profile", "\"FILE.json\""},
      {"recorded", &it.recorded, Limits::any(),
       "rounds.jsonl of a run: each round takes the time recorded there", "\"FILE.jsonl\""},
      {"recorded_worker", &it.recorded_worker, Limits::any(),
       "worker of that run to take times from; default: the one of this name", "\"half\"", "with recorded"},
      {"flat_ms", &it.device.flat_ms, Limits::wide(0, most_count),
       "least time of a batch: a GPU takes as long for a few samples as for one", "25",
       "with time_ms or samples_per_s"},
      {"noise", &it.device.noise, Limits::at_least(0, 1), "relative standard deviation of one compute time",
       "", "with any of the four"},
      {"trace", &it.trace, Limits::any(),
       "file with a line time_s,speed or time_s,cpu and steps: its speed over time", "\"FILE.csv\""},
  };
}

std::vector<Key> keys_of_an_event(ScenarioDraft::Event& draft) {
  sim::Event& it = draft.event;
  return {
      {"worker", &draft.worker, Limits::any(), "default: all workers, each with its own random draws",
       "\"worker-0\""},
      {"from_round", &it.from, Limits::wide(0, no_limit), "first round with the event"},
      {"to_round", &it.to, Limits::wide(0, no_limit), "first round without it; default: it lasts to the end",
       "65"},
      {"from_s", &it.from_s, Limits::wide(0, most_count),
       "start in seconds after the first round began, instead of from_round; not with kill, join, cut, "
       "bursty or random_walk",
       "12.5"},
      {"to_s", &it.to_s, Limits::wide(0, most_count), "end in seconds; default: it lasts to the end", "30"},
      {"unforeseen", &it.unforeseen, Limits::any(),
       "true: the oracle does not know the event; it counts as noise"},

      {"add_ms", &it.add_ms, Limits::wide(0, most_count), "added to the time of every batch", "50",
       "effects; several together are allowed"},
      {"scale", &it.scale, Limits::wide(1e-3, most_count), "factor of the compute time", "2.0"},
      {"cpu", &it.cpu, Limits::at_least(1e-3, 1),
       "CPU share that a co-tenant leaves: the compute time is divided by it", "0.3"},
      {"memory", &it.memory, Limits::at_least(1e-3, 1),
       "share of memory_mb that a co-tenant leaves: only reported, changes no time", "0.3"},
      {"network", &it.network, Limits::wide(1e-3, most_count), "factor of its exchange time", "3.0"},

      {"kill", &it.kill, Limits::any(), "true: exits in from_round; rejoins in to_round, if given", "",
       "or a single occurrence, for one worker and without a shape; one event each"},
      {"join", &it.join, Limits::any(), "true: joins in from_round, and stays"},
      {"cut", &it.cut, Limits::any(), "true: its connections break, once"},
  };
}

std::vector<Key> keys_of_a_shape(ScenarioDraft::Event& draft) {
  sim::Event& it = draft.event;
  return {
      {"shape", &draft.shape, Limits::one_of(sim::shape_names()),
       "step: full effect from from_round to to_round; ramp: grows from from_round to to_round, then stays",
       "", "course of the effect over time"},
      {"period", &it.period, Limits::wide(1, most_count), "rounds", "80",
       "shape = \"periodic\": active in the first `length` rounds of every `period`"},
      {"length", &it.length, Limits::wide(1, most_count), "rounds", "40"},
      {"period_s", &it.period_s, Limits::wide(1e-6, most_count), "period in seconds", "8"},
      {"length_s", &it.length_s, Limits::wide(1e-6, most_count), "length in seconds", "4"},
      {"mean_gap", &it.mean_gap, Limits::wide(1, most_count), "mean rounds without the effect", "40",
       "shape = \"bursty\": active at random times"},
      {"mean_length", &it.mean_length, Limits::wide(1, most_count), "mean rounds with the effect", "30"},
      {"deviation", &it.deviation, Limits::at_least(0, 10), "standard deviation of the logarithm of one step",
       "0.02",
       "shape = \"random_walk\": multiplies the compute time by a walk that starts at 1; allows no effect"},
      {"lowest", &it.lowest, Limits::wide(1e-3, most_count), "lower bound of the walk, at most 1"},
      {"highest", &it.highest, Limits::wide(1e-3, most_count), "upper bound of the walk, at least 1"},
  };
}

}  // namespace

std::vector<Key> simulated_training_keys(ScenarioDraft& draft) {
  std::vector<Key> names{
      {"model", &draft.job.model, Limits::plain_name(), "name of the model: steelyard help model", "",
       "only with train = true; as in a job file"},
      {"data", &draft.job.data, Limits::plain_name(), "name of the data set: steelyard help data"}};
  return joined({std::move(names), training_keys(draft.job, draft.training)});
}

Schema schema_of(ScenarioDraft& draft) {
  using Kind = Section::Kind;
  std::vector<Key> model{grain_key(draft.training),
                         {"", &draft.job.model_options, {}, "options of this model: steelyard help model"}};
  std::vector<Key> data{{"", &draft.job.data_options, {}, "options of this data set: steelyard help data"}};
  std::vector<Key> policy{{"", &draft.policy_options, {}, ""}};
  std::vector<Key> event = joined({keys_of_an_event(draft.event), keys_of_a_shape(draft.event)});
  return {
      "a scenario of steelyard",
      "A scenario is a TOML file: a simulated cluster, and a job for it. Rounds count from 0. Paths are\n"
      "relative to the scenario.\n",
      {{"job", "the job: length, sync mode, policy",
        joined({keys_of_the_job(draft), simulated_training_keys(draft)})},
       {"model", "grain and options of the model, with train = true", std::move(model)},
       {"data", "data options, with train = true", std::move(data)},
       {"policy", "options of a policy, as in a job file: steelyard help policy", std::move(policy),
        Kind::named},
       {"network", "network between workers and servers", keys_of_the_network(draft)},
       {"servers", "time that the servers take, one message after the other", keys_of_the_servers(draft)},
       {"worker", "one [[worker]] for each worker, at least one", keys_of_a_worker(draft.worker), Kind::list,
        true},
       {"event", "one [[event]] for each disturbance of a worker, or of all", std::move(event), Kind::list}}};
}

}  // namespace steelyard
