// A balancing policy: observes how long each worker took, returns how many samples each computes next.
//
// A policy is pure: no clock, file, thread or environment; the same calls in the same order give the same
// plans. It is owned and called by one thread. To try what would happen, another one restores its state and
// is run forward.
//
// Units: samples and positions are counts, times are seconds, memory is MB, cpu is a share of
// the machine in [0, 1]. Where a job's pieces begin and end at multiples of g positions (Job::grain), every
// count here, of samples, positions and bounds, is of grains, g positions each: a policy divides grains as it
// would divide samples, and whoever asks it converts. So no policy rounds to grains by itself.
//
// Promised: the meaning of what the headers in this folder declare stays within a minor version. All other
// headers may change with any release.
#pragma once

#include <steelyard/choice.h>
#include <steelyard/device_kind.h>
#include <steelyard/failure.h>
#include <steelyard/predictor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace steelyard::balancing {

// A living worker, as it is when a plan is made. What it says of its machine is that of its last report:
// measured up to the end of the round before, at best.
struct WorkerView {
  std::uint32_t slot = 0;
  DeviceKind kind = DeviceKind::cpu;
  std::uint64_t least = 1, most = UINT64_MAX;  // bounds of its share
  double cpu = -1;                             // share available, as last told; -1 if unknown
  double memory = -1;                          // available, as last told; -1 if unknown
  bool may_rest = true;  // a policy may leave it out of a round, if `least` is at most 1
  std::string name{};    // as people call it; may be empty
};

// One finished share: how many samples in how much compute time, without waiting and without exchange. A
// share that ends in a part of a grain is told with the time of whole grains, or not at all.
struct Sample {
  std::uint32_t slot = 0;
  std::uint64_t round = 0;
  std::uint64_t samples = 0;
  double seconds = 0;
  double cpu = -1;  // as reported with this sample
  double memory = -1;
  // From its start to its report, beyond the compute: what the worker waited for its parameters. -1: unknown.
  double exchange = -1;
  void serialize(auto& fields) { fields(slot, round, samples, seconds, cpu, memory, exchange); }
};

// How a share is gone through where local steps are taken: so many times, each in so many batches. What a
// batch costs whatever its size, it costs once for each.
struct Walk {
  std::uint64_t passes = 1, steps = 1;
  // Positions of a batch, where batches are of one size and a share has as many as it holds; 0: it has
  // `steps`.
  std::uint64_t batch = 0;
};

// The round to be divided. The last round of an epoch is shorter, and workers come and go between requests.
struct Request {
  std::uint64_t round = 0;
  std::uint64_t positions = 0;
  std::vector<WorkerView> workers;  // the living, ordered by slot; at least one
  std::uint64_t epoch = 0;          // counted from 1; 0 if unknown
  Walk walk{};
  // Samples of the job in one of the positions here: who brings curves over samples scales them by it.
  std::uint64_t grain = 1;
};

class Pacing;

class Policy {
 public:
  virtual ~Policy() = default;

  // Samples that cannot be (no time, no samples, not finite) are ignored.
  virtual void observe(const Sample& sample) = 0;

  // One share per worker, in the order of request.workers. They sum to request.positions, exactly; a share is
  // 0 only if there are fewer positions than workers, if the worker's bounds say so, or if it may rest and
  // the round is faster without it. Throws Failure (configuration) if the workers together cannot take so
  // many.
  //
  // One round may be asked about several times: what a lost worker owed is divided by a request of its own,
  // and so is an evaluation, of which no sample is ever observed.
  virtual std::vector<std::uint64_t> plan(const Request& request) = 0;

  // If it also says how long rounds are: a part of this policy. nullptr: it does not.
  virtual Pacing* pacing() { return nullptr; }

  // What a checkpoint keeps. After restore(save()) all later plans are identical. restore() throws Failure
  // (io) on a text that this policy did not write, and then changes nothing.
  [[nodiscard]] virtual std::string save() const = 0;
  virtual void restore(const std::string& text) = 0;
};

// How much of a round a worker may be given.
struct Bound {
  std::uint64_t least = 0;
  std::uint64_t most = UINT64_MAX;
  friend bool operator==(const Bound&, const Bound&) = default;
};

// The bounds of the workers, in their order, that a plan has to respect: every worker that may have a sample
// gets one, and where a round is too short for all minima they shrink. Throws Failure (configuration) if the
// workers cannot take the round.
std::vector<Bound> share_bounds(const Request& request);

// Shares in proportion to the weights, by the method of the largest remainder: integers that sum to `total`.
// Weights are finite and not negative; where those that may still take are all zero, they count as equal.
// `bounds` has one entry per weight, or none at all. No share leaves its bounds. Throws Failure
// (configuration) where no integers within the bounds sum to `total`.
std::vector<std::uint64_t> largest_remainder(std::span<const double> weights, std::uint64_t total,
                                             std::span<const Bound> bounds = {});

// A row makes the policy. `steelyard help policy` shows the rows.
using PolicyTable = Choices<std::unique_ptr<Policy>(const Options& options)>;

using PolicyOptions = OptionTexts;

// A user's own policies are asked first. Throws Failure (configuration) for an unknown name, an unknown
// option or a value out of range, and for whatever a user's own throws; the message names the policy and
// lists what is known.
std::unique_ptr<Policy> make_policy(const std::string& name, const PolicyOptions& options = {},
                                    const PolicyTable& own = {}, const PredictorTable& own_predictors = {});

}  // namespace steelyard::balancing
