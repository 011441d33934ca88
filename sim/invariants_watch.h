// Looks at the scheduler's invariants (scheduler/invariants.h) while a world runs.
#pragma once

#include <functional>
#include <string>

#include "scheduler/invariants.h"
#include "sim/observer.h"

namespace steelyard::sim {

class InvariantsWatch final : public Observer {
 public:
  // `rounds`: whenever a round begins or membership changes. `steps`: after every step of the scheduler.
  enum class When : std::uint8_t { never, rounds, steps };
  using Complain = std::function<void(const std::string&)>;  // may throw

  InvariantsWatch(When when, Complain complain) : when_(when), complain_(std::move(complain)) {}
  void stepped(const Hosted& node, const Envelope* in) override;

 private:
  const When when_;
  const Complain complain_;
  Invariants invariants_;
  Round next_round_ = 0;  // rounds below have begun
};

}  // namespace steelyard::sim
