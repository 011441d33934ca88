// ModelIntake: gets model and first weights from a worker, for a job that leaves both to its workers.
//
// It stands in the scheduler's place until it has them; the scheduler proper begins afterwards, with a
// complete job. Of the workers that say Hello, one is asked at a time: what it trains, then its first
// weights, part by part. One that has no model, or a larger one than fits here, that goes, is silent for
// `timeout`, or takes too long in all, is given up for the next. The recorder is told why. All other nodes
// hear a heartbeat, so that none leaves meanwhile.
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

  // In all, a worker has ten times `timeout`, and besides so long for each part.
  static constexpr Duration for_a_part = std::chrono::milliseconds(250);

  // `seed` is the job's; the worker draws the weights with it. `memory`: bytes that there are for them.
  ModelIntake(std::uint64_t seed, Duration timeout, std::uint64_t memory)
      : seed_(seed), timeout_(timeout), memory_(memory) {}

  void step(Time now, const Envelope& in, Outbox& out);
  void wake(Time now, Outbox& out);
  [[nodiscard]] Time deadline() const;
  [[nodiscard]] bool finished() const { return ended_ || complete(); }

  // False once it has finished: the job is to end, or cannot begin, since a process of it is gone for good.
  [[nodiscard]] bool complete() const { return described_ && weights_.size() == model_.layout.size(); }
  // Once it is complete.
  [[nodiscard]] const ModelDescription& model() const { return model_; }
  [[nodiscard]] std::vector<float> take_weights() { return std::move(weights_); }

 private:
  void ask(Time now, Outbox& out);
  void hear(Time now, NodeId from, const Hello& hello, Outbox& out);
  void hear(Time now, const ModelDescription& model, Outbox& out);
  void hear(Time now, const Weights& part, Outbox& out);
  void give_up(const std::string& why, Outbox& out);
  [[nodiscard]] Interval next_part() const;
  [[nodiscard]] Time patience() const;  // for all that the worker has to tell

  const std::uint64_t seed_;
  const Duration timeout_;
  const std::uint64_t memory_;
  std::optional<NodeId> asked_;
  Time asked_since_;
  std::string name_;          // of the worker that is asked
  Time heard_;                // from it, last
  std::set<NodeId> in_vain_;  // not asked again
  bool described_ = false, ended_ = false;
  ModelDescription model_;
  std::vector<float> weights_;  // as far as they have come
};

}  // namespace steelyard
