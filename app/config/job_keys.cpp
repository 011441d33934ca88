#include "app/config/job_keys.h"

#include <steelyard/micro_batch.h>

#include <algorithm>
#include <optional>

#include "core/text.h"
#include "protocol/sync_mode.h"

namespace steelyard {
namespace {

constexpr double billion = 1e9;

std::vector<Key> keys_of_the_length(Job& job) {
  return {
      {"batch", &job.global_batch, Limits::at_least(1, billion), "samples per round, over all workers"},
      {"epochs", &job.epochs, Limits::at_least(0, billion),
       "stop after this many epochs; 0: no limit; default: 10, or 0 if rounds or seconds is given"},
      {"rounds", &job.rounds, Limits::at_least(0), "stop after this many rounds; 0: no limit"},
      {"seconds", &job.seconds, Limits::at_least(0, billion),
       "stop after this many seconds of training; 0: no limit"},
  };
}

std::vector<Key> keys_of_checkpoints(Job& job) {
  return {
      {"checkpoint_every", &job.checkpoint_every, Limits::at_least(0, billion),
       "epochs between checkpoints; 0: none by epoch. One is always written at the end. If batch is the "
       "whole data set, checkpoint_minutes applies instead, unless it is 0"},
      {"checkpoint_rounds", &job.checkpoint_rounds, Limits::at_least(0, billion),
       "rounds between further checkpoints; 0: none"},
      {"checkpoint_minutes", &job.checkpoint_minutes, Limits::at_least(0, billion),
       "also write a checkpoint when the last one is this many minutes old; 0: never"},
  };
}

constexpr std::uint32_t most_servers = 1024;
const std::string server_count_expected = "a number from 1 to 1024, or \"workers\"";

bool is_server_count(std::string_view text) {
  const auto number = number_in<std::uint32_t>(text);
  return text == on_workers || (number && *number >= 1 && *number <= most_servers);
}

std::vector<Key> keys_of_the_cluster(JobDraft& draft) {
  Job& job = draft.file.job;
  return {
      {"servers", &draft.servers, Limits::text_or_number(is_server_count, server_count_expected),
       "server processes; workers: none, each GPU worker keeps a part of the model on its GPU"},
      {"shards_per_server", &draft.shards_per_server, Limits::at_least(1, 64),
       "shards of the model in each server process, each with a thread of its own; 4 if not given and a "
       "worker's device is a GPU (cuda)"},
      {"replicas", &draft.file.job.replicas, Limits::at_least(0, 1),
       "1: mirror each shard in another server; the job survives the loss of a server, at twice the memory"},
      {"bind_workers",
       &draft.file.bind_workers,
       {},
       "keep each worker on cores of its own, if the threads of a host's workers are as many as its cores"},
      {"sync", &draft.sync, Limits::text(is_sync, "one of " + sync_choices()),
       "sync mode, that is when a round ends: steelyard help sync"},
      Key{"sum_order", &draft.sum_order, Limits::one_of({"arrival", "ordered"}),
          "order of summation: arrival: pushes are added as they arrive; ordered: by their positions, so "
          "that sums do not depend on arrival"}
          .formerly("sums"),
      {"reproducible",
       &draft.reproducible,
       {},
       "bit-identical results for any split of rounds and any failures; sums in order, grain by grain; needs "
       "bsp, float32 and CPU workers"},
      Key{"push_encoding", &draft.push_encoding, Limits::one_of(float_code_names()),
          "encoding of gradients in messages; int8 and int4 round at random, unbiased: less traffic, more "
          "noise"}
          .formerly("push"),
      Key{"pull_encoding", &draft.pull_encoding, Limits::one_of(float_code_names()),
          "encoding of parameter changes in messages; rounding errors are added to the next change"}
          .formerly("pull"),
      {"policy", &job.policy, Limits::plain_name(), "how the batch is divided: steelyard help policy"},
      {"profile",
       &job.profile,
       {},
       "workers measure their time by batch size for some seconds before training; the first round is "
       "divided accordingly"},
      {"profile_ms", &draft.profile_ms,
       Limits::text([](std::string_view) { return true; }, "curves, as in \"half: 5.9 0.59\"", false),
       "time curves measured before the job, by worker, as polynomials of the batch in ms; these workers are "
       "not measured again",
       "\"half: 5.9 0.59; slow: 8.3 0.6\""},
      {"heartbeat", &job.heartbeat, Limits::above(0, 3600),
       "seconds between heartbeats; with more than 250 workers at least 2 ms for each worker"},
      Key{"heartbeat_timeout", &job.heartbeat_timeout, Limits::above(0, 86400),
          "seconds without a message until a process is declared lost; more than two heartbeats"}
          .formerly("dead_after"),
      {"server_wait", &job.server_wait, Limits::at_least(0, billion),
       "seconds to wait for a silent server that has no mirror, before the job ends; 0: no limit"},
  };
}

std::vector<Key> keys_of_refusals(JobDraft& draft) {
  return {
      {"gradient_limit", &draft.file.job.gradient_limit, Limits::at_least(0),
       "reject gradients with a norm above this multiple of the recent median, as from a broken machine; "
       "0: reject only values that are not finite"},
      {"bad_gradient", &draft.bad_gradient,
       Limits::one_of(bad_gradient_names()).renamed("again", "recompute"),
       "after a rejected gradient: recompute: another worker computes it; rest: also gives its sender no "
       "work for ten rounds; stop: ends the job"},
  };
}

std::vector<Key> keys_of_a_layer(ModelLayer& layer) {
  return {{"kind", &layer.kind, Limits::plain_name(), "the layer: steelyard help layers", "\"linear\""},
          {"name", &layer.name, Limits::plain_name(),
           "name of the layer, and prefix of its tensors; default: kind and number", "\"conv1\""},
          {"inputs", &layer.inputs, Limits::texts(is_plain_name, limits::layer_inputs),
           "names of layers before it, or \"input\"; default: the layer before it", R"(["relu2", "conv4"])"},
          {"", &layer.options, {}, "options of this layer: steelyard help layers"}};
}

// In the order of nn::Optimizer::Kind.
const std::vector<std::string>& optimizer_names() {
  static const std::vector<std::string> names{"sgd",   "momentum", "nesterov", "adam",
                                              "adamw", "lars",     "lamb",     "worker"};
  return names;
}

// Job::statistics; nothing if the text is not a value of `grain`.
std::optional<std::uint32_t> statistics_in(std::string_view text) {
  if (text == "auto") return 0;
  if (text == "share") return whole_share;
  for (const std::uint32_t size : nn::micro_batch_sizes) {
    if (text == std::to_string(size)) return size;
  }
  return std::nullopt;
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
  if (schedule.warmup > 0) return "schedule = \"table\" includes the warm-up in its rates: leave warmup out";
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
  job.statistics = *statistics_in(grain);
}

Key grain_key(TrainingWords& words) {
  return {
      "grain", &words.grain,
      Limits::text_or_number([](std::string_view text) { return statistics_in(text).has_value(); },
                             "1, 2, 4, 8, 16, 32, \"share\" or \"auto\""),
      "samples over which batch norm takes its statistics; shares are multiples of it. auto: 32; share: a "
      "worker's whole share, so that shares have any size, and results depend on how rounds are divided"};
}

std::vector<Key> training_keys(Job& job, TrainingWords& words) {
  return {
      {"target_accuracy", &job.target_accuracy, Limits::at_least(0, 1),
       "stop at this test accuracy (0 to 1); 0: never"},
      {"optimizer", &words.optimizer, Limits::one_of(optimizer_names()),
       "update rule of the parameters; worker: servers average gradients, and each worker's script takes the "
       "steps"},
      {"momentum", &job.optimizer.momentum, Limits::share_below_one(),
       "momentum, nesterov, lars: momentum coefficient"},
      {"beta1", &job.optimizer.beta1, Limits::share_below_one(),
       "adam, adamw, lamb: decay of the mean of gradients"},
      {"beta2", &job.optimizer.beta2, Limits::share_below_one(),
       "adam, adamw, lamb: decay of the mean of squared gradients"},
      {"epsilon", &job.optimizer.epsilon, Limits::above(0), "adam, adamw, lamb: added to the square root"},
      {"trust", &job.optimizer.trust, Limits::above(0),
       "lars: trust coefficient: norm of a tensor's step over the tensor's norm, at lr 1"},
      {"weight_decay", &job.optimizer.weight_decay, Limits::at_least(0), "weight decay; 0: none"},
      {"outer_rate", &job.outer_rate, Limits::above(0),
       "with local steps: learning rate of the servers' outer step; 1: move to the workers' mean"},
      {"outer_momentum", &job.outer_momentum, Limits::share_below_one(),
       "with local steps: Nesterov momentum of the servers' outer step"},
      {"lr", &job.schedule.base, Limits::above(0),
       "learning rate after the warm-up; for adam and adamw, begin with 0.001"},
      {"schedule", &words.schedule, Limits::one_of(schedule_names()),
       "how the learning rate changes after the warm-up"},
      {"warmup", &job.schedule.warmup, Limits::share_below_one(),
       "share of the training during which the rate rises from 0 to lr"},
      {"step_epochs", &job.schedule.step_epochs, Limits::above(0),
       "step: epochs between two cuts; table: epochs per rate, or a fraction of one, counted from the start "
       "of each epoch: batch / samples is one round"},
      {"step_factor", &job.schedule.step_factor, Limits::above(0), "step: factor of each cut"},
      {"final_lr", &job.schedule.final, Limits::at_least(0), "cosine: learning rate at the end"},
      {"rates", &job.schedule.rates, Limits::list(0, nn::max_rates),
       "table: the learning rates, used instead of lr; the last one stays in use", "[0.1, 0.05]"},
      {"clip_norm", &job.clip_norm, Limits::at_least(0),
       "scale gradients with a larger norm down to this norm; 0: never"},
      {"evaluate_every", &job.evaluate_every, Limits::at_least(0, billion),
       "epochs between evaluations on the test set; 0: never"},
  };
}

Schema schema_of(JobDraft& draft) {
  using Kind = Section::Kind;
  Job& job = draft.file.job;
  std::vector<Key> names{
      {"name", &job.name, Limits::plain_name(),
       "name of the job, after which run directories are named; default: the name of its file"},
      {"seed", &job.seed, Limits::at_least(0), "seed of initial parameters, sample order and dropout"}};
  std::vector<Key> model{
      {"name", &job.model, Limits::plain_name(), "name of the model: steelyard help model"},
      grain_key(draft.training),
      {"", &job.model_options, {}, "options of this model: steelyard help model"}};
  std::vector<Key> data{
      {"name", &job.data, Limits::plain_name(), "name of the data set: steelyard help data"},
      {"", &job.data_options, {}, "options of this data set: steelyard help data"}};
  std::vector<Key> train = joined({keys_of_the_length(job), training_keys(job, draft.training),
                                   keys_of_refusals(draft), keys_of_checkpoints(job)});
  std::vector<Key> policy{{"", &draft.policy_options, {}, ""}};
  return {"a job of steelyard",
          "",
          {{"job", "name and seed", std::move(names)},
           {"model", "the model to train", std::move(model)},
           {"model.layer", "one [[model.layer]] for each layer of the model \"layers\", in order",
            keys_of_a_layer(draft.layer), Kind::list},
           {"data", "the data set", std::move(data)},
           {"train", "length, optimizer, learning rate, evaluation, checkpoints", std::move(train)},
           {"cluster", "servers, sync mode, encodings, policy, timeouts", keys_of_the_cluster(draft)},
           {"policy", "options of that policy: steelyard help policy", std::move(policy), Kind::named},
           {"worker", "one [[worker]] for each worker, at least one", worker_keys(draft.worker), Kind::list,
            true}}};
}

}  // namespace steelyard
