#include "app/config/job_keys.h"

#include <algorithm>

#include "protocol/sync_mode.h"

namespace steelyard {
namespace {

constexpr double billion = 1e9;

std::vector<Key> keys_of_the_length(Job& job) {
  return {
      {"batch", &job.global_batch, Limits::at_least(1, billion), "samples in a round, over all workers"},
      {"epochs", &job.epochs, Limits::at_least(0, billion),
       "stop after so many; 0: no limit. Left out: 10, or 0 beside rounds or seconds"},
      {"rounds", &job.rounds, Limits::at_least(0), "stop after so many; 0: no limit"},
      {"seconds", &job.seconds, Limits::at_least(0, billion),
       "stop after so much training time; 0: no limit"},
  };
}

std::vector<Key> keys_of_checkpoints(Job& job) {
  return {
      {"checkpoint_every", &job.checkpoint_every, Limits::at_least(0, billion),
       "epochs; 0: not for their sake, and always at the end. Where batch is the whole data set, "
       "checkpoint_minutes count instead, unless they are 0"},
      {"checkpoint_rounds", &job.checkpoint_rounds, Limits::at_least(0, billion),
       "besides, every so many rounds; 0: never"},
      {"checkpoint_minutes", &job.checkpoint_minutes, Limits::at_least(0, billion),
       "besides, when so many minutes have passed since the last; 0: never"},
  };
}

std::vector<Key> keys_of_the_cluster(JobDraft& draft) {
  Job& job = draft.file.job;
  return {
      {"servers", &draft.file.servers, Limits::at_least(1, 1024), "server processes"},
      {"shards_per_server", &draft.shards_per_server, Limits::at_least(1, 64),
       "parts of the model in each of them"},
      {"replicas", &draft.file.job.replicas, Limits::at_least(0, 1),
       "copies of each part in another server, so that one may be lost"},
      {"sync", &draft.sync, Limits::text(is_sync, "one of " + sync_choices()),
       "when a round is over: steelyard help sync"},
      Key{"sum_order", &draft.sum_order, Limits::one_of({"arrival", "ordered"}),
          "ordered: pushes are added in the order of their positions, whatever order they come in"}
          .formerly("sums"),
      {"reproducible",
       &draft.reproducible,
       {},
       "the same bits, however rounds are split and whoever fails: ordered, grain by grain"},
      Key{"push_encoding", &draft.push_encoding, Limits::one_of(float_code_names()),
          "how gradients travel; int8 and int4 round to so many bits, at random and right on average"}
          .formerly("push"),
      Key{"pull_encoding", &draft.pull_encoding, Limits::one_of(float_code_names()),
          "how changes of the parameters travel; what rounding leaves out goes with the next"}
          .formerly("pull"),
      {"policy", &job.policy, Limits::plain_name(), "how the batch is divided: steelyard help policy"},
      {"heartbeat", &job.heartbeat, Limits::above(0, 3600), "seconds between signs of life"},
      Key{"heartbeat_timeout", &job.heartbeat_timeout, Limits::above(0, 86400),
          "seconds of silence after which a process is lost; more than two heartbeats"}
          .formerly("dead_after"),
      {"server_wait", &job.server_wait, Limits::at_least(0, billion),
       "seconds for which the job waits for a silent server without a mirror; 0: for ever"},
  };
}

std::vector<Key> keys_of_refusals(JobDraft& draft) {
  return {
      {"gradient_limit", &draft.file.job.gradient_limit, Limits::at_least(0),
       "refuses gradients that are more than so many times as long as usual, as those of a broken machine; "
       "0: only what is not finite"},
      {"bad_gradient", &draft.bad_gradient,
       Limits::one_of(bad_gradient_names()).renamed("again", "recompute"),
       "what follows for a refused one: recompute: another worker computes it; rest: and the worker that "
       "sent it "
       "gets no work for ten rounds; stop: the job ends"},
  };
}

// In the order of nn::Optimizer::Kind.
const std::vector<std::string>& optimizer_names() {
  static const std::vector<std::string> names{"sgd", "momentum", "nesterov", "adam", "adamw", "lars", "lamb"};
  return names;
}

// In the order of nn::Schedule::Kind.
const std::vector<std::string>& schedule_names() {
  static const std::vector<std::string> names{"constant", "step", "cosine", "table"};
  return names;
}

}  // namespace

FloatCode float_code(const std::string& name) {
  return static_cast<FloatCode>(std::ranges::find(float_code_names(), name) - float_code_names().begin());
}

std::string schedule_trouble(const nn::Schedule& schedule) {
  if (schedule.kind != nn::Schedule::Kind::table) return {};
  if (schedule.rates.empty())
    return "schedule = \"table\" has no rates: give rates = [0.1, 0.05], or another schedule";
  if (schedule.warmup > 0) return "schedule = \"table\" has its warm-up in its rates: leave warmup out";
  return {};
}

const std::vector<std::string>& bad_gradient_names() {
  static const std::vector<std::string> names{"recompute", "rest", "stop"};
  return names;
}

void TrainingWords::put_into(Job& job) const {
  const auto kind = std::ranges::find(optimizer_names(), optimizer) - optimizer_names().begin();
  job.optimizer.kind = static_cast<nn::Optimizer::Kind>(kind);
  const auto course = std::ranges::find(schedule_names(), schedule) - schedule_names().begin();
  job.schedule.kind = static_cast<nn::Schedule::Kind>(course);
}

std::vector<Key> training_keys(Job& job, TrainingWords& words) {
  return {
      {"target_accuracy", &job.target_accuracy, Limits::at_least(0, 1),
       "stop when so large a share of the test samples is right; 0: never"},
      {"optimizer", &words.optimizer, Limits::one_of(optimizer_names()), "how weights are changed"},
      {"momentum", &job.optimizer.momentum, Limits::share_below_one(), "of momentum, nesterov and lars"},
      {"beta1", &job.optimizer.beta1, Limits::share_below_one(),
       "of adam, adamw and lamb: what the mean of gradients keeps"},
      {"beta2", &job.optimizer.beta2, Limits::share_below_one(),
       "of adam, adamw and lamb: what the mean of their squares keeps"},
      {"epsilon", &job.optimizer.epsilon, Limits::above(0), "of adam, adamw and lamb: added to the root"},
      {"trust", &job.optimizer.trust, Limits::above(0),
       "of lars: a tensor's step is so long beside it, at lr 1"},
      {"weight_decay", &job.optimizer.weight_decay, Limits::at_least(0), "0: none"},
      {"outer_rate", &job.outer_rate, Limits::above(0),
       "with local steps: servers go so many times as far as the workers came"},
      {"outer_momentum", &job.outer_momentum, Limits::share_below_one(),
       "with local steps: of the Nesterov momentum with which servers go there"},
      {"lr", &job.schedule.base, Limits::above(0),
       "learning rate after the warm-up; for adam and adamw, begin with 0.001"},
      {"schedule", &words.schedule, Limits::one_of(schedule_names()), "how the learning rate goes on"},
      {"warmup", &job.schedule.warmup, Limits::share_below_one(),
       "share of the training in which the rate rises from 0 to lr"},
      {"step_epochs", &job.schedule.step_epochs, Limits::above(0),
       "step: epochs between two cuts; table: epochs that each rate is for, or a part of one, "
       "counted anew in each epoch: batch / samples is a round"},
      {"step_factor", &job.schedule.step_factor, Limits::above(0), "step: each cut is by this"},
      {"final_lr", &job.schedule.final, Limits::at_least(0), "cosine: the rate at the end"},
      {"rates", &job.schedule.rates, Limits::list(0, nn::max_rates),
       "table: the learning rates, whatever lr is; the last one goes on", "[0.1, 0.05]"},
      {"clip_norm", &job.clip_norm, Limits::at_least(0),
       "longer gradients are scaled down to this norm; 0: never"},
      {"evaluate_every", &job.evaluate_every, Limits::at_least(0, billion), "epochs; 0: never"},
  };
}

Schema schema_of(JobDraft& draft) {
  using Kind = Section::Kind;
  Job& job = draft.file.job;
  std::vector<Key> names{
      {"name", &job.name, Limits::plain_name(), "run directories are called after it"},
      {"seed", &job.seed, Limits::at_least(0), "of first weights, order of samples and dropout"}};
  std::vector<Key> model{{"name", &job.model, Limits::plain_name(), "which one: steelyard help model"},
                         {"", &job.model_options, {}, "options of this model: steelyard help model"}};
  std::vector<Key> data{{"name", &job.data, Limits::plain_name(), "which one: steelyard help data"},
                        {"", &job.data_options, {}, "options of this data set: steelyard help data"}};
  std::vector<Key> train = joined({keys_of_the_length(job), training_keys(job, draft.training),
                                   keys_of_refusals(draft), keys_of_checkpoints(job)});
  std::vector<Key> policy{{"", &draft.policy_options, {}, ""}};
  return {"a job of steelyard",
          "",
          {{"job", "what it is called", std::move(names)},
           {"model", "what is trained", std::move(model)},
           {"data", "on what", std::move(data)},
           {"train", "how, and until when", std::move(train)},
           {"cluster", "by what kind of cluster", keys_of_the_cluster(draft)},
           {"policy", "options of that policy: steelyard help policy", std::move(policy), Kind::named},
           {"worker", "by whom: one [[worker]] for each, at least one", worker_keys(draft.worker), Kind::list,
            true}}};
}

}  // namespace steelyard
