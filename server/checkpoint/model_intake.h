// ModelIntake: gets the model and its initial weights from a worker, for a job that leaves both to its
// workers.
//
// It acts as the scheduler until it has them; then the real scheduler starts with a complete job. Of the
// workers that send Hello, it asks one at a time: first for the model, then for the initial weights, part by
// part. It gives up on a worker that has no model or one too large for this machine, that disconnects, sends
// nothing for `timeout`, or takes too long in total. It then reports the reason to the recorder and asks the
// next worker. All other nodes get heartbeats, so that none times out meanwhile.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "protocol/machine.h"

namespace steelyard {

class ModelIntake {
 public:
  static constexpr std::uint64_t floats_at_a_time = 1 << 16;

  // A worker's time limit: ten times `timeout`, plus this for each part.
  static constexpr Duration for_a_part = std::chrono::milliseconds(250);

  // `seed` is the job's; the worker draws the weights with it. `memory`: bytes available for them.
  ModelIntake(std::uint64_t seed, Duration timeout, std::uint64_t memory)
      : seed_(seed), timeout_(timeout), memory_(memory) {}

  void step(Time now, const Envelope& in, Outbox& out);
  void wake(Time now, Outbox& out);
  [[nodiscard]] Time deadline() const;
  [[nodiscard]] bool finished() const { return ended_ || complete(); }

  // If finished() but not complete(): the job must end, or cannot start because one of its processes exited.
  [[nodiscard]] bool complete() const { return described_ && weights_.size() == model_.layout.size(); }
  // Only once complete.
  [[nodiscard]] const ModelDescription& model() const { return model_; }
  [[nodiscard]] std::vector<float> take_weights() { return std::move(weights_); }

 private:
  void ask(Time now, Outbox& out);
  void hear(Time now, NodeId from, const Hello& hello, Outbox& out);
  void hear(Time now, const ModelDescription& model, Outbox& out);
  void hear(Time now, const Weights& part, Outbox& out);
  void give_up(const std::string& why, Outbox& out);
  [[nodiscard]] Interval next_part() const;
  [[nodiscard]] Time patience() const;  // deadline for description and weights together

  const std::uint64_t seed_;
  const Duration timeout_;
  const std::uint64_t memory_;
  std::optional<NodeId> asked_;
  Time asked_since_;
  std::string name_;          // of the worker being asked
  Time heard_;                // last message from it
  std::set<NodeId> in_vain_;  // not to be asked again
  bool described_ = false, ended_ = false;
  ModelDescription model_;
  std::vector<float> weights_;  // received until now
};

}  // namespace steelyard
