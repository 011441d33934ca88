// Looks at the scheduler's invariants (scheduler/rounds/invariants.h) while a world runs.
#pragma once

#include <functional>
#include <string>

#include "scheduler/rounds/invariants.h"
#include "sim/observer.h"

namespace steelyard::sim {

class InvariantsWatch final : public Observer {
 public:
  // `rounds`: whenever a round begins or membership changes. `steps`: after every step of the scheduler.
  enum class When : std::uint8_t { never, rounds, steps };
  using Complain = std::function<void(const std::string&)>;  // may throw
  using Find = std::function<const Scheduler&(const Hosted& its_node)>;

  InvariantsWatch(When when, Complain complain, Find find = machine_of<Scheduler>)
      : when_(when), complain_(std::move(complain)), find_(std::move(find)) {}
  void stepped(const Hosted& node, const Envelope* in) override;
  // Another scheduler takes the place of one that had come further than anybody has heard.
  void begin_anew() { invariants_ = {}; }

 private:
  const When when_;
  const Complain complain_;
  const Find find_;
  Invariants invariants_;
  Round next_round_ = 0;  // rounds below have begun
};

}  // namespace steelyard::sim
