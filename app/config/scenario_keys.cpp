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
      {"global_batch", &it.global_batch, Limits::wide(1, most_count), "samples in a round, over all workers"},
      {"grain", &it.grain, Limits::wide(1, most_count),
       "samples: shares are multiples of it, as models with batch norm want them; of a training, the "
       "model's"},
      {"samples_per_epoch", &it.samples_per_epoch, Limits::wide(1, no_limit),
       "left out beside rounds: all rounds are one epoch; left out beside train: all samples of the data, "
       "and "
       "otherwise so many, the first"},
      {"epochs", &it.epochs, Limits::wide(1, 1e6), "or give rounds; with both, whichever is over first"},
      {"rounds", &it.rounds, Limits::wide(1, 1e7), "left out: no limit", "200"},
      {"seed", &it.seed, Limits::wide(0, no_limit), "of all that is random"},
      {"sync", &it.sync, Limits::text(is_sync, "one of " + sync_choices()),
       "when a round is over: steelyard help sync"},
      {"policy", &it.policy, Limits::one_of(draft.policies),
       "who divides the batch: steelyard help policy; oracle knows the true curves"},
      {"train", &draft.train, Limits::any(),
       "true: real gradients, so that accuracy against virtual time comes out"},
  };
}

std::vector<Key> keys_of_the_network(ScenarioDraft& draft) {
  sim::NetworkOptions& it = draft.scenario.network;
  return {
      {"step_ms", &it.step_ms, Limits::wide(0, most_count), "so long in every round", "95",
       "how long the exchange takes: a number (one of the next two), or what follows from the links"},
      {"recorded", &draft.recorded, Limits::any(),
       "the rounds.jsonl of a run: the median of what its rounds took beyond computing", "\"FILE.jsonl\""},
      {"latency_ms", &it.latency_ms, Limits::wide(0, most_count), "of every message", "",
       "of the links, not beside those two"},
      {"bandwidth_gbps", &it.bandwidth_gbps, Limits::wide(1e-6, most_count),
       "of each worker's link, together with model_mb; left out: transfers take no time", "10"},
      {"model_mb", &it.model_mb, Limits::wide(0, most_count),
       "millions of bytes that go each way in a round, together with bandwidth_gbps", "45"},
      {"push", &draft.push_encoding, Limits::one_of(float_code_names()),
       "how gradients travel, as in a job file"},
      {"pull", &draft.pull_encoding, Limits::one_of(float_code_names()),
       "how changes of the parameters travel, as in a job file"},
      {"servers", &draft.scenario.servers, Limits::at_least(1, 64), "parts of the model", "", "in any case"},
      {"heartbeat_s", &draft.scenario.heartbeat_s, Limits::wide(0.001, 1e6),
       "seconds between signs of life; left out: 0.5, and longer for more than 100 workers", "0.5"},
  };
}

std::vector<Key> keys_of_a_worker(ScenarioDraft::Worker& it) {
  return {
      {"name", &it.device.name, Limits::text(valid_name, name_expected()),
       "left out: worker-0, worker-1, ...", "\"worker-0\""},
      {"count", &it.count, Limits::wide(1, most_simulated_workers),
       "so many of them: NAME-0, NAME-1, ...; left out: one, called NAME", "3"},
      {"kind", &it.kind, Limits::one_of(device_kinds()),
       "policies that read CPU shares see those of CPU workers"},
      {"max_batch", &it.device.max_batch, Limits::wide(0, no_limit),
       "samples that fit its memory at once; 0: no limit"},
      {"latency_ms", &it.device.latency_ms, Limits::wide(0, most_count), "of its own link", "20",
       "its link, where that is another than the network's"},
      {"bandwidth_gbps", &it.device.bandwidth_gbps, Limits::wide(1e-6, most_count), "of its own link",
       "0.01"},
      {"memory_mb", &it.device.memory_mb, Limits::wide(1, no_limit),
       "what the machine has; CPU workers report what is free of it; left out: nothing", "16000"},

      {"time_ms", &it.device.time_ms, Limits::list(-Limits::infinity, 16),
       "polynomial in the batch size, low order first", "[5.9, 0.593]",
       "how long it takes for a batch: exactly one of the next four"},
      {"samples_per_s", &it.samples_per_s, Limits::wide(1e-6, 1e12), "a speed, whatever the batch size",
       "1600"},
      {"profile", &it.profile, Limits::any(), "what steelyard profile measured", "\"FILE.json\""},
      {"recorded", &it.recorded, Limits::any(),
       "the rounds.jsonl of a run: each round takes what it took there", "\"FILE.jsonl\""},
      {"recorded_worker", &it.recorded_worker, Limits::any(),
       "whose rounds; left out: those of the worker of this name", "\"half\"", "beside recorded"},
      {"flat_ms", &it.device.flat_ms, Limits::wide(0, most_count),
       "no batch takes less: a GPU takes as long for a few samples as for one", "25",
       "beside time_ms or samples_per_s"},
      {"noise", &it.device.noise, Limits::at_least(0, 1), "relative standard deviation of one compute time",
       "", "beside any of the four"},
      {"trace", &it.trace, Limits::any(),
       "time_s,speed or time_s,cpu: how fast it is at what time, step by step", "\"FILE.csv\""},
  };
}

std::vector<Key> keys_of_an_event(ScenarioDraft::Event& draft) {
  sim::Event& it = draft.event;
  return {
      {"worker", &draft.worker, Limits::any(), "left out: all, each with draws of its own", "\"worker-0\""},
      {"from_round", &it.from, Limits::wide(0, no_limit), "the first with it"},
      {"to_round", &it.to, Limits::wide(0, no_limit), "the first without it; left out: it stays", "65"},
      {"from_s", &it.from_s, Limits::wide(0, most_count),
       "the same by the clock, from the beginning of the first round; not beside kill, join, cut or what is "
       "random",
       "12.5"},
      {"to_s", &it.to_s, Limits::wide(0, most_count), "left out: it stays", "30"},
      {"unforeseen", &it.unforeseen, Limits::any(),
       "true: the oracle does not know of it, it counts as noise"},

      {"add_ms", &it.add_ms, Limits::wide(0, most_count), "to the time of every batch", "50",
       "effects; several together are allowed"},
      {"scale", &it.scale, Limits::wide(1e-3, most_count), "times the worker's own time", "2.0"},
      {"cpu", &it.cpu, Limits::at_least(1e-3, 1),
       "share of it left by a co-tenant: its own time is divided by that", "0.3"},
      {"memory", &it.memory, Limits::at_least(1e-3, 1),
       "share of memory_mb left by a co-tenant: reported; changes no time by itself", "0.3"},
      {"network", &it.network, Limits::wide(1e-3, most_count), "times its exchange", "3.0"},

      {"kill", &it.kill, Limits::any(), "true: dies in from_round; comes back for to_round if that is given",
       "", "or what happens once, to one worker and without a shape; an event for each"},
      {"join", &it.join, Limits::any(), "true: is not there before from_round, and then stays"},
      {"cut", &it.cut, Limits::any(), "true: its connections break, once"},
  };
}

std::vector<Key> keys_of_a_shape(ScenarioDraft::Event& draft) {
  sim::Event& it = draft.event;
  return {
      {"shape", &draft.shape, Limits::one_of(sim::shape_names()),
       "step: all of it from from_round to to_round; ramp: grows from from_round to to_round, and stays", "",
       "how the effect comes and goes"},
      {"period", &it.period, Limits::wide(1, most_count), "rounds", "80",
       "shape = \"periodic\": it is there in the first `length` rounds of every `period`"},
      {"length", &it.length, Limits::wide(1, most_count), "rounds", "40"},
      {"period_s", &it.period_s, Limits::wide(1e-6, most_count), "the same by the clock", "8"},
      {"length_s", &it.length_s, Limits::wide(1e-6, most_count), "", "4"},
      {"mean_gap", &it.mean_gap, Limits::wide(1, most_count), "rounds without it", "40",
       "shape = \"bursty\": it comes and goes at random"},
      {"mean_length", &it.mean_length, Limits::wide(1, most_count), "rounds with it", "30"},
      {"deviation", &it.deviation, Limits::at_least(0, 10), "standard deviation of the logarithm of one step",
       "0.02",
       "shape = \"random_walk\": the time is multiplied by a walk that begins at 1; no effect beside it"},
      {"lowest", &it.lowest, Limits::wide(1e-3, most_count), "bound of the walk, at most 1"},
      {"highest", &it.highest, Limits::wide(1e-3, most_count), "bound of the walk, at least 1"},
  };
}

}  // namespace

std::vector<Key> simulated_training_keys(ScenarioDraft& draft) {
  std::vector<Key> names{{"model", &draft.job.model, Limits::plain_name(), "which one: steelyard help model",
                          "", "beside train = true, as in a job file"},
                         {"data", &draft.job.data, Limits::plain_name(), "which one: steelyard help data"}};
  return joined({std::move(names), training_keys(draft.job, draft.training)});
}

Schema schema_of(ScenarioDraft& draft) {
  using Kind = Section::Kind;
  std::vector<Key> model{{"", &draft.job.model_options, {}, "options of this model: steelyard help model"}};
  std::vector<Key> data{{"", &draft.job.data_options, {}, "options of this data set: steelyard help data"}};
  std::vector<Key> policy{{"", &draft.policy_options, {}, ""}};
  std::vector<Key> event = joined({keys_of_an_event(draft.event), keys_of_a_shape(draft.event)});
  return {
      "a scenario of steelyard",
      "A scenario is a TOML file: a cluster of formulas, and a job for it. Rounds count from 0. Files that "
      "it\nnames lie beside it.\n",
      {{"job", "what is done", joined({keys_of_the_job(draft), simulated_training_keys(draft)})},
       {"model", "of a training", std::move(model)},
       {"data", "of a training", std::move(data)},
       {"policy", "options of a policy, as in a job file: steelyard help policy", std::move(policy),
        Kind::named},
       {"network", "between workers and servers", keys_of_the_network(draft)},
       {"worker", "one for each, at least one", keys_of_a_worker(draft.worker), Kind::list, true},
       {"event", "what disturbs a worker, or all: one for each", std::move(event), Kind::list}}};
}

}  // namespace steelyard
