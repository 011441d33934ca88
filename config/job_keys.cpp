#include "config/job_keys.h"

#include <algorithm>
#include <iterator>

#include "config/toml_text.h"
#include "wire/name.h"
#include "wire/sync_mode.h"
#include "worker/compute/throttle.h"

namespace steelyard {
namespace {

constexpr double billion = 1e9;

JobLimits at_least(double least, double most = std::numeric_limits<double>::infinity()) {
  return {least, most, false, false, {}};
}
JobLimits above(double least, double most = std::numeric_limits<double>::infinity()) {
  return {least, most, true, false, {}};
}
JobLimits share_below_one() { return {0, 1, false, true, {}}; }
JobLimits any_name() { return {}; }
JobLimits one_of(std::vector<std::string> choices) { return {0, 0, false, false, std::move(choices)}; }
const std::string& a_mode() {
  static const std::string text = "one of " + sync_choices();
  return text;
}
JobLimits a_sync_mode() { return {0, 0, false, false, {}, is_sync, a_mode}; }
JobLimits a_slowdown() { return {0, 0, false, false, {}, Throttle::is_slow, Throttle::slow_expected}; }
JobLimits a_cpu_share() { return {0, 0, false, false, {}, Throttle::is_cpu, Throttle::cpu_expected}; }

// So that a row of the table says where its value lives and nothing else.
#define FIELD(place) [](JobDraft& draft) -> JobField { return &draft.place; }

std::vector<JobKey> keys_of_the_training() {
  return {
      {"job", "name", FIELD(file.job.name), any_name(), "run directories are called after it"},
      {"job", "seed", FIELD(file.job.seed), at_least(0), "of first weights, order of samples and dropout"},

      {"model", "name", FIELD(file.job.model), any_name(), "which one: steelyard help model"},

      {"data", "name", FIELD(file.job.data), any_name(), "which one: steelyard help data"},

      {"train", "batch", FIELD(file.job.global_batch), at_least(1, billion),
       "samples in a round, over all workers"},
      {"train", "epochs", FIELD(file.job.epochs), at_least(0, billion),
       "stop after so many; 0: no limit. Left out: 10, or 0 beside rounds or seconds"},
      {"train", "rounds", FIELD(file.job.rounds), at_least(0), "stop after so many; 0: no limit"},
      {"train", "seconds", FIELD(file.job.seconds), at_least(0, billion),
       "stop after so much training time; 0: no limit"},
      {"train", "target_accuracy", FIELD(file.job.target_accuracy), at_least(0, 1),
       "stop when so large a share of the test samples is right; 0: never"},
      {"train", "optimizer", FIELD(optimizer), one_of({"sgd", "momentum", "nesterov"}),
       "how weights are changed"},
      {"train", "momentum", FIELD(file.job.optimizer.momentum), share_below_one(),
       "of momentum and nesterov"},
      {"train", "weight_decay", FIELD(file.job.optimizer.weight_decay), at_least(0), "0: none"},
      {"train", "lr", FIELD(file.job.schedule.base), above(0), "learning rate after the warm-up"},
      {"train", "schedule", FIELD(schedule), one_of({"constant", "step", "cosine"}),
       "how the learning rate goes on"},
      {"train", "warmup", FIELD(file.job.schedule.warmup), share_below_one(),
       "share of the training in which the rate rises from 0 to lr"},
      {"train", "step_epochs", FIELD(file.job.schedule.step_epochs), above(0),
       "step: epochs between two cuts"},
      {"train", "step_factor", FIELD(file.job.schedule.step_factor), above(0), "step: each cut is by this"},
      {"train", "final_lr", FIELD(file.job.schedule.final), at_least(0), "cosine: the rate at the end"},
      {"train", "clip_norm", FIELD(file.job.clip_norm), at_least(0),
       "longer gradients are scaled down to this norm; 0: never"},
      {"train", "evaluate_every", FIELD(file.job.evaluate_every), at_least(0, billion), "epochs; 0: never"},
      {"train", "checkpoint_every", FIELD(file.job.checkpoint_every), at_least(0, billion),
       "epochs; 0: not for their sake, and always at the end"},
      {"train", "checkpoint_rounds", FIELD(file.job.checkpoint_rounds), at_least(0, billion),
       "besides, every so many rounds; 0: never"},
      {"train", "checkpoint_minutes", FIELD(file.job.checkpoint_minutes), at_least(0, billion),
       "besides, when so many minutes have passed since the last; 0: never"},
  };
}

std::vector<JobKey> keys_of_the_cluster() {
  return {
      {"cluster", "servers", FIELD(file.servers), at_least(1, 1024), "server processes"},
      {"cluster", "shards_per_server", FIELD(shards_per_server), at_least(1, 64),
       "parts of the model in each of them"},
      {"cluster", "sync", FIELD(sync), a_sync_mode(), "when a round is over: steelyard help sync"},
      {"cluster", "sums", FIELD(sums), one_of({"arrival", "ordered"}),
       "ordered: pushes are added in the order of their positions, whatever order they come in"},
      {"cluster", "policy", FIELD(file.job.policy), any_name(),
       "who divides the batch: steelyard help policy"},
      {"cluster", "heartbeat", FIELD(file.job.heartbeat), above(0, 3600), "seconds between signs of life"},
      {"cluster", "dead_after", FIELD(file.job.dead_after), above(0, 86400),
       "seconds of silence after which a process is lost; more than two heartbeats"},

      {"worker", "name", FIELD(worker.name), any_name(), "left out: worker-0, worker-1, ..."},
      {"worker", "slow", FIELD(worker.slow), a_slowdown(),
       "slows its computation down by this factor, to try unequal machines on one"},
      {"worker", "cpu", FIELD(worker.cpu), a_cpu_share(),
       "share of its processor that others leave to it, to try that out; its reports tell it"},
      {"worker", "device", FIELD(worker.device), one_of({"cpu", "gpu"}), "what it computes on"},
      {"worker", "max_batch", FIELD(worker.max_batch), at_least(0),
       "samples that fit its memory at once; 0: no limit"},
  };
}

#undef FIELD

std::vector<JobKey> make_keys() {
  std::vector<JobKey> keys = keys_of_the_training();
  std::ranges::move(keys_of_the_cluster(), std::back_inserter(keys));
  return keys;
}

std::string range_text(const JobLimits& l) {
  const std::string least = number_text(l.least), most = number_text(l.most);
  if (l.most == std::numeric_limits<double>::infinity()) return (l.above ? "above " : "of at least ") + least;
  if (!l.above && !l.below) return "from " + least + " to " + most;
  return (l.above ? "above " : "of at least ") + least + (l.below ? " and below " : " and at most ") + most;
}

}  // namespace

std::span<const JobSection> job_sections() {
  static const JobSection sections[] = {
      {"job", "what it is called", nullptr},
      {"model", "what is trained", "options of this model: steelyard help model"},
      {"data", "on what", "options of this data set: steelyard help data"},
      {"train", "how, and until when", nullptr},
      {"cluster", "by what kind of cluster", nullptr},
      {"worker", "by whom: one [[worker]] for each, at least one", nullptr},
  };
  return sections;
}

std::span<const JobKey> job_keys() {
  static const std::vector<JobKey> keys = make_keys();
  return keys;
}

std::string allowed(const JobKey& key) {
  JobDraft draft;
  const JobField field = key.field(draft);
  if (std::holds_alternative<double*>(field)) return "a number " + range_text(key.limits);
  if (!std::holds_alternative<std::string*>(field)) return "a whole number " + range_text(key.limits);
  if (key.limits.expected != nullptr) return key.limits.expected();
  if (key.limits.choices.empty()) {
    return "a name of at most 64 letters, digits, '.', '_' and '-' that begins with a letter, digit or '_'";
  }
  std::string text;
  for (const std::string& choice : key.limits.choices) text += (text.empty() ? "" : ", ") + quoted(choice);
  return key.limits.choices.size() == 1 ? text + " (there is no other yet)" : "one of " + text;
}

bool is_plain_name(std::string_view name) {
  return valid_name(name) && name[0] != '.' && name[0] != '-' &&
         name.find_first_of(":/@+") == std::string_view::npos;
}

}  // namespace steelyard
