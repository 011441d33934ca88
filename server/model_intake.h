// ModelIntake: gets model and first weights from a worker, for a job that leaves both to its workers.
//
// It stands in the scheduler's place until it has them; the scheduler proper begins afterwards, with a
// complete job. Of the workers that say Hello, one is asked at a time: what it trains, then its first
// weights, part by part. One that has no model, goes, or is silent for `timeout` is given up for the next.
// The recorder is told why. All other nodes hear a heartbeat, so that none leaves meanwhile.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "wire/machine.h"

namespace steelyard {

class ModelIntake {
 public:
  static constexpr std::uint64_t floats_at_a_time = 1 << 16;

  // `seed` is the job's; the worker draws the weights with it.
  ModelIntake(std::uint64_t seed, Duration timeout) : seed_(seed), timeout_(timeout) {}

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

  const std::uint64_t seed_;
  const Duration timeout_;
  std::optional<NodeId> asked_;
  std::string name_;          // of the worker that is asked
  Time heard_;                // from it, last
  std::set<NodeId> in_vain_;  // not asked again
  bool described_ = false, ended_ = false;
  ModelDescription model_;
  std::vector<float> weights_;  // as far as they have come
};

}  // namespace steelyard
