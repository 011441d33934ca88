// The job description: everything that all processes of one job must agree on. The scheduler owns it and
// sends it to all members. Its fingerprint shows whether two processes have the same job.
//
// Plain data. It does not contain where processes run or their names; those belong to each process.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/layout.h"
#include "nn/optimizer/rule.h"
#include "nn/optimizer/schedule.h"
#include "protocol/fields.h"
#include "protocol/float_code.h"
#include "protocol/sync_mode.h"

namespace steelyard {

// Order in which a server adds the pushes of a round. With `positions`, the same pieces give the same sum,
// bit for bit, but waiting pushes take memory. Modes that apply pushes on arrival allow only `arrival`.
enum class SumOrder : std::uint8_t { arrival, positions };

// Job::statistics: batch norm takes its statistics over a worker's whole share.
inline constexpr std::uint32_t whole_share = UINT32_MAX;

// Reaction to a rejected gradient, which is not finite or far too long.
enum class BadGradient : std::uint8_t {
  recompute,  // another worker computes the piece
  rest,       // besides, the worker that computed it gets no pieces for some rounds
  stop,       // the job ends
};

// The compute time of one batch, measured before training.
struct BatchTime {
  std::uint64_t samples = 0;
  double seconds = 0;
  friend bool operator==(const BatchTime&, const BatchTime&) = default;
  void serialize(auto& fields) { fields(samples, seconds); }
};

// The compute time of a worker as a function of its batch b, in seconds: a0 + a1 b + a2 b^2 + a3 b^3.
struct WorkerCurve {
  std::string name;           // of the worker
  std::vector<double> terms;  // a0 first, at most four
  void serialize(auto& fields) { fields(bounded(name, limits::name), bounded(terms, limits::curve_terms)); }
};

// One layer of a model that the job file describes ([[model.layer]]).
struct ModelLayer {
  std::string kind, name;           // the name may be empty
  std::vector<std::string> inputs;  // names of layers before it; empty: the one before it
  std::map<std::string, std::string> options;
  std::string place{};  // in the job file, for messages in this process
  void serialize(auto& fields) {
    fields(bounded(kind, limits::label), bounded(name, limits::label),
           bounded(inputs, limits::layer_inputs, limits::label),
           bounded(options, limits::options, limits::value));
  }
};

struct Job {
  std::string name = "job";
  std::uint64_t seed = 1;

  // Model and data. The layout follows from the model; it is sent so that servers need not know models.
  std::string model = "lenet5";
  std::map<std::string, std::string> model_options;
  std::vector<ModelLayer> model_layers;
  std::string data = "fashion-mnist";
  std::map<std::string, std::string> data_options;
  std::uint64_t train_samples = 0, test_samples = 0;
  std::uint32_t labels = 1;  // per sample; correct answers are counted per label
  // Pieces begin and end at multiples of this number of positions in their round. Batch norm is computed over
  // these grains, so the division of a round does not change its result. 1: no restriction.
  std::uint32_t grain = 1;
  // Positions over which the batch norm of a model made of layers takes its statistics, one of
  // nn::micro_batch_sizes; 0: the model decides; whole_share: over a share, and `grain` is 1.
  std::uint32_t statistics = 0;
  Layout layout;

  // Training. Learning rates are functions of position, so every process has the schedule.
  std::uint64_t global_batch = 512;
  nn::Optimizer optimizer;
  // With local steps: how servers apply the workers' differences (server_rule() below). Rate 1 and momentum 0
  // apply them unchanged.
  double outer_rate = 1, outer_momentum = 0;
  nn::Schedule schedule;
  double clip_norm = 0;  // maximum global norm; gradients with a larger one are scaled down; 0: no limit

  // Shards reject pushes with a norm above this multiple of the recent median (server/shard/held_pushes.h).
  // 0: they reject only gradients that are not finite.
  double gradient_limit = 0;
  BadGradient bad_gradient = BadGradient::recompute;

  // End of the job: the first limit that is reached. 0: no limit.
  std::uint64_t epochs = 10;
  std::uint64_t rounds = 0;
  double seconds = 0;
  double target_accuracy = 0;  // at this test accuracy, 0..1

  // Intervals in epochs; 0: never. A checkpoint is always written at the end.
  std::uint64_t evaluate_every = 1;
  std::uint64_t checkpoint_every = 1;
  // Also write a checkpoint after every this number of rounds, and this number of minutes after the last one;
  // 0: never.
  std::uint64_t checkpoint_rounds = 0;
  double checkpoint_minutes = 10;

  // Members.
  std::uint32_t workers = 1;  // number at which training begins; more may join later
  std::uint32_t shards = 1;
  std::uint32_t replicas = 0;  // mirrors of each shard: 0 or 1
  SyncMode sync;
  SumOrder sum_order = SumOrder::arrival;
  // Encodings of pushes, and of the answers to pulls of a worker that has the preceding version.
  FloatCode push_encoding = FloatCode::float32, pull_encoding = FloatCode::float32;
  std::string policy = "steelyard";
  std::map<std::string, std::string> policy_options;
  // Workers measure their compute time by batch size before training, and the first split follows from it
  // (worker/profiler.h). Those in `curves` were measured before the job and are not measured again.
  bool profile = false;
  std::vector<WorkerCurve> curves;

  // Timeouts, in seconds.
  double heartbeat = 0.5;
  double heartbeat_timeout = 10;  // a node that sends nothing for this long is lost
  // How long the job waits for a silent server without a mirror (scheduler/members/awaited.h); 0: without a
  // limit.
  double server_wait = 0;
  void serialize(auto& fields) {
    fields(bounded(name, limits::name), seed, bounded(model, limits::label),
           bounded(model_options, limits::options, limits::value), bounded(model_layers, limits::layers),
           bounded(data, limits::label), bounded(data_options, limits::options, limits::value), train_samples,
           test_samples, positive(labels), positive(grain), statistics, layout, global_batch, optimizer,
           outer_rate, outer_momentum, schedule, clip_norm, epochs, rounds, seconds, target_accuracy,
           evaluate_every, checkpoint_every, checkpoint_rounds, checkpoint_minutes, workers, shards, replicas,
           sync, upto(sum_order, SumOrder::positions), upto(push_encoding, FloatCode::int4),
           upto(pull_encoding, FloatCode::int4), bounded(policy, limits::label),
           bounded(policy_options, limits::options, limits::value), heartbeat, heartbeat_timeout,
           gradient_limit, upto(bad_gradient, BadGradient::stop), server_wait, profile,
           bounded(curves, limits::members));
  }
};

std::uint64_t fingerprint(const Job& job);

// The update rule of servers. With local steps, workers apply the optimizer. Servers then step by the average
// of the workers' differences at outer_rate times the round's rate: with plain SGD or, if outer_momentum is
// not 0, Nesterov's momentum (DiLoCo, Douillard et al. 2023).
inline nn::Optimizer server_rule(const Job& job) {
  using Kind = nn::Optimizer::Kind;
  if (!job.sync.is_local()) return job.optimizer;
  return {job.outer_momentum > 0 ? Kind::nesterov : Kind::sgd, job.outer_momentum, 0};
}
// The first rounds of the job, which end with a barrier: SyncMode::barrier_percent of its rounds, rounded up.
// The job's epochs or rounds must be limited (length_trouble() in protocol/sync_limits.h).
inline std::uint64_t rounds_with_barrier(const Job& job) {
  if (!(job.sync.barrier_percent > 0)) return 0;
  const std::uint64_t batch = std::max<std::uint64_t>(1, job.global_batch),
                      of_epoch = job.train_samples / batch + (job.train_samples % batch > 0 ? 1 : 0);
  double all = job.rounds > 0 ? static_cast<double>(job.rounds) : 1e18;
  if (job.epochs > 0) all = std::min(all, static_cast<double>(job.epochs) * static_cast<double>(of_epoch));
  return static_cast<std::uint64_t>(
      std::ceil(std::min(all, 1e18) * std::min(job.sync.barrier_percent, 100.0) / 100));
}
// The encoding of a slice. Running averages and statistics, which are pushed like gradients, stay uncoded:
// rounded to few bits, a variance could become 0.
inline FloatCode code_of(FloatCode of_job, const Job& job, const Slice& slice) {
  return job.layout.ranges[slice.range].rule == Rule::step ? of_job : FloatCode::float32;
}
// Floats that a server keeps for each parameter: the state of its rule and, with coded pulls, the part that
// workers have not received yet (server/shard/coded_slices.h).
inline std::uint32_t state_slots(const Job& job) {
  return nn::state_slots(server_rule(job)) + (job.pull_encoding == FloatCode::float32 ? 0 : 1);
}

}  // namespace steelyard
