// Policy: observes the compute times of the workers, and returns how many samples each computes in the next
// round.
//
// A policy is pure: it uses no clock, file, thread or environment, and the same calls in the same order give
// the same plans. One thread owns and calls it. To simulate ahead, restore its saved state into another
// instance.
//
// Units: samples and positions are counts, times are seconds, memory is MB, cpu is a share of the machine in
// [0, 1]. In a job with grain g > 1 (Job::grain), all counts here (samples, positions, bounds) are in grains
// of g positions. The caller converts, so policies need no rounding to grains.
//
// Stability: declarations in the headers of this folder keep their meaning within a minor version. All other
// headers may change with any release.
#pragma once

#include <steelyard/choice.h>
#include <steelyard/device_kind.h>
#include <steelyard/failure.h>
#include <steelyard/predictor.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace steelyard::balancing {

// A live worker at the time of a plan. cpu and memory are its last reading: taken at the end of its last
// share or later, while it waited for the others.
struct WorkerView {
  // Its index in the job, kept for its name. Slots of workers that left are reused only after dozens have
  // left.
  std::uint32_t slot = 0;
  DeviceKind kind = DeviceKind::cpu;
  std::uint64_t least = 1, most = UINT64_MAX;  // bounds of its share
  double cpu = -1;                             // available share, 0..1; -1: unknown
  double memory = -1;                          // available MB; -1: unknown
  bool may_rest = true;                        // a policy may give it a share of 0, if `least` is at most 1
  std::string name{};                          // for display; may be empty
  // Its time for b samples as measured before training, in seconds: the terms of a cubic, low order first.
  // Over samples also if the counts here are grains. All 0: not measured.
  std::array<double, 4> profile{};
};

// One finished share and its compute time, without waiting and communication. A share that ends within a
// grain is reported with the estimated time of whole grains, or not at all.
//
// A worker may have several samples of one round (after a reassignment), or none. Samples may arrive after
// the plan of a later round if the sync mode lets rounds overlap. If a round ends without a worker
// (sync = "backup:B"), `seconds` is a lower bound: the time since the round began, without that of the
// worker's finished shares.
struct Sample {
  std::uint32_t slot = 0;
  std::uint64_t round = 0;
  std::uint64_t samples = 0;
  double seconds = 0;
  double cpu = -1;     // mean available share of the machine over this computation; -1: unknown
  double memory = -1;  // available MB at its end; -1: unknown
  // Seconds from start to report beyond compute time, spent waiting for parameters. -1: unknown.
  double exchange = -1;
  // WorkerView::cpu and memory with which this share was planned. A predictor is trained with these, because
  // it sees nothing later when it predicts.
  double planned_cpu = -1, planned_memory = -1;
  void serialize(auto& fields) {
    fields(slot, round, samples, seconds, cpu, memory, exchange, planned_cpu, planned_memory);
  }
};

// Local steps: a worker computes its share `passes` times, each time in `steps` batches. Every batch has a
// fixed cost.
struct Walk {
  std::uint64_t passes = 1, steps = 1;
  // If not 0: positions of a batch. The number of batches then follows from the share; `steps` is unused.
  std::uint64_t batch = 0;
};

// The round to divide. The last round of an epoch may be shorter; workers may differ between requests.
struct Request {
  std::uint64_t round = 0;
  std::uint64_t positions = 0;
  std::vector<WorkerView> workers;  // live ones, ordered by slot; at least one
  std::uint64_t epoch = 0;          // counted from 1; 0 if unknown
  Walk walk{};
  // Samples of the job per position of this request; scales cost curves that are given over samples.
  std::uint64_t grain = 1;
};

class Pacing;

class Policy {
 public:
  virtual ~Policy() = default;

  // Ignores invalid samples: zero samples, or times that are not positive and finite.
  virtual void observe(const Sample& sample) = 0;

  // Returns one share per worker, in the order of request.workers, which sum exactly to request.positions. A
  // share is 0 only if there are fewer positions than workers, if the worker's bounds require it, or if
  // may_rest is set and the round is faster without the worker. Throws Failure (configuration) if the upper
  // bounds of all workers sum to less than request.positions.
  //
  // May be called several times for one round: the pieces of a lost worker are divided by a separate request.
  // Also called for evaluations, whose samples are never observed.
  //
  // If it throws, or if its shares do not sum to the positions or exceed a `most`, the scheduler divides the
  // round equally, and the job prints one warning.
  virtual std::vector<std::uint64_t> plan(const Request& request) = 0;

  // Slots of workers that the last plan() gave a single sample only to measure them, although it takes them
  // longer than the round. The caller may let another worker compute that sample, let these compute it
  // beside the round, and not wait for them: each of their Samples may then follow after plans of later
  // rounds.
  [[nodiscard]] virtual std::vector<std::uint32_t> beside_round() const { return {}; }

  // Non-null if this policy also decides how long rounds are. Owned by the policy.
  virtual Pacing* pacing() { return nullptr; }

  // State for checkpoints. After restore(save()) all later plans are identical. restore() throws Failure (io)
  // on a text that this policy did not write, and then changes nothing.
  [[nodiscard]] virtual std::string save() const = 0;
  virtual void restore(const std::string& text) = 0;
};

// Smallest and largest share of one worker.
struct Bound {
  std::uint64_t least = 0;
  std::uint64_t most = UINT64_MAX;
  friend bool operator==(const Bound&, const Bound&) = default;
};

// The bounds that a plan must respect, in the order of request.workers. Every worker with `most` > 0 gets at
// least one sample; minima shrink if the round is too short for all. Throws Failure (configuration) if the
// maxima sum to less than the round.
std::vector<Bound> share_bounds(const Request& request);

// Divides `total` in proportion to the weights by the largest-remainder method: returns integers within their
// bounds that sum to `total`. Weights must be finite and not negative; if the weights of all workers below
// their upper bound are zero, they count as equal. `bounds` has one entry per weight, or is empty. Throws
// Failure (configuration) if no integers within the bounds sum to `total`.
std::vector<std::uint64_t> largest_remainder(std::span<const double> weights, std::uint64_t total,
                                             std::span<const Bound> bounds = {});

// A row's function makes the policy. `steelyard help policy` lists the rows.
using PolicyTable = Choices<std::unique_ptr<Policy>(const Options& options)>;

using PolicyOptions = OptionTexts;

// Looks the name up in `own` first, then in the built-in policies. Throws Failure (configuration) for an
// unknown name, an unknown option or a value out of range, or if a row of `own` throws. The message names the
// policy and lists the valid names.
std::unique_ptr<Policy> make_policy(const std::string& name, const PolicyOptions& options = {},
                                    const PolicyTable& own = {}, const PredictorTable& own_predictors = {});

}  // namespace steelyard::balancing
