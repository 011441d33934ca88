// The job description: everything that all processes of one job must agree on. The scheduler owns it and
// hands it to all that join; its fingerprint tells whether two processes mean the same job.
//
// Plain data. Nothing here says where a process runs or what it is called: that is each
// process's own business.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/layout.h"
#include "nn/optimizer/rule.h"
#include "nn/optimizer/schedule.h"
#include "protocol/fields.h"
#include "protocol/float_code.h"
#include "protocol/sync_mode.h"

namespace steelyard {

// In which order the pushes of a round are added. By position, the same pieces have the same sum, bit for
// bit; that costs the memory of the pushes that wait. Where pushes are applied on arrival, no order is kept.
enum class SumOrder : std::uint8_t { arrival, positions };

// What becomes of a gradient that is refused, not finite or wildly long: another worker computes it; and
// whoever computed it rests for some rounds; or the job ends.
enum class BadGradient : std::uint8_t { recompute, rest, stop };

struct Job {
  std::string name = "job";
  std::uint64_t seed = 1;

  // What is trained, on what. The layout follows from the model; it travels so that servers
  // need not know models.
  std::string model = "lenet5";
  std::map<std::string, double> model_options;
  std::string data = "fashion-mnist";
  std::map<std::string, std::string> data_options;
  std::uint64_t train_samples = 0, test_samples = 0;
  std::uint32_t labels = 1;  // of each sample: what counts of correct answers are shares of
  // Pieces begin and end at multiples of so many positions of their round: the model's statistics of batches
  // (batch norm) belong to these grains, so that no split changes them. 1: any.
  std::uint32_t grain = 1;
  Layout layout;

  // How. Learning rates are functions of position, so every process has the schedule.
  std::uint64_t global_batch = 512;
  nn::Optimizer optimizer;
  // With local steps, what servers do to how far the workers came (server_rule below): 1 and 0 take it as it
  // is.
  double outer_rate = 1, outer_momentum = 0;
  nn::Schedule schedule;
  double clip_norm = 0;  // global gradient norm above which gradients are scaled down; 0: never

  // A push whose gradient is more than so many times as long as usual is refused
  // (server/shard/held_pushes.h); 0: never, then only what is not finite is.
  double gradient_limit = 0;
  BadGradient bad_gradient = BadGradient::recompute;

  // Until when: whichever comes first. 0 means "not a reason to stop".
  std::uint64_t epochs = 10;
  std::uint64_t rounds = 0;
  double seconds = 0;
  double target_accuracy = 0;  // share of the test samples, 0..1

  // How often, in epochs; 0 means never (a checkpoint is always written at the end).
  std::uint64_t evaluate_every = 1;
  std::uint64_t checkpoint_every = 1;
  // Besides, after so many rounds, and when so many minutes have passed since the last one; 0: never.
  std::uint64_t checkpoint_rounds = 0;
  double checkpoint_minutes = 10;

  // By whom.
  std::uint32_t workers = 1;  // training begins when so many have come; later ones join as they come
  std::uint32_t shards = 1;
  std::uint32_t replicas = 0;  // mirrors of each shard: 0 or 1
  SyncMode sync;
  SumOrder sum_order = SumOrder::arrival;
  // How floats are coded on their way: what is pushed; and what a worker pulls that has the version before.
  FloatCode push_encoding = FloatCode::float32, pull_encoding = FloatCode::float32;
  std::string policy = "steelyard";
  std::map<std::string, std::string> policy_options;

  // Timeouts, in seconds.
  double heartbeat = 0.5;
  double heartbeat_timeout = 10;  // a node silent for so long is lost
  // So long the job waits for a silent server that has no mirror (scheduler/members/awaited.h); 0: for ever.
  double server_wait = 0;
  void serialize(auto& fields) {
    fields(bounded(name, limits::name), seed, bounded(model, limits::label),
           bounded(model_options, limits::options, limits::label), bounded(data, limits::label),
           bounded(data_options, limits::options, limits::value), train_samples, test_samples,
           positive(labels), positive(grain), layout, global_batch, optimizer, outer_rate, outer_momentum,
           schedule, clip_norm, epochs, rounds, seconds, target_accuracy, evaluate_every, checkpoint_every,
           checkpoint_rounds, checkpoint_minutes, workers, shards, replicas, sync,
           upto(sum_order, SumOrder::positions), upto(push_encoding, FloatCode::int4),
           upto(pull_encoding, FloatCode::int4), bounded(policy, limits::label),
           bounded(policy_options, limits::options, limits::value), heartbeat, heartbeat_timeout,
           gradient_limit, upto(bad_gradient, BadGradient::stop), server_wait);
  }
};

std::uint64_t fingerprint(const Job& job);

// What servers step by. Local steps have the optimizer in them: of how far they came, servers take the
// average, or make Nesterov's step of it (DiLoCo, Douillard et al. 2023), at outer_rate times the round's
// rate.
inline nn::Optimizer server_rule(const Job& job) {
  using Kind = nn::Optimizer::Kind;
  if (!job.sync.is_local()) return job.optimizer;
  return {job.outer_momentum > 0 ? Kind::nesterov : Kind::sgd, job.outer_momentum, 0};
}
// How a slice is coded. Running averages and what is pushed beside steps stay as they are: rounded to few
// bits, a variance may be none.
inline FloatCode code_of(FloatCode of_job, const Job& job, const Slice& slice) {
  return job.layout.ranges[slice.range].rule == Rule::step ? of_job : FloatCode::float32;
}
// How many floats a server keeps for each parameter beside it: what its rule keeps, and where pulls are
// coded, what workers have not been told yet (server/shard/coded_slices.h).
inline std::uint32_t state_slots(const Job& job) {
  return nn::state_slots(server_rule(job)) + (job.pull_encoding == FloatCode::float32 ? 0 : 1);
}

}  // namespace steelyard
