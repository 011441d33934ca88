// What was measured of the workers before the job: a curve for each, under its name; those without one are
// for the slots, in their order. Slots are numbered as workers join, so names are surer.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "balancing/cost/cubic.h"

namespace steelyard::balancing {

class Profile {
 public:
  struct Line {
    std::string name;  // may be empty
    Cubic curve;
  };
  Profile() = default;
  explicit Profile(const std::vector<Line>& lines);

  [[nodiscard]] bool empty() const { return by_name_.empty() && by_slot_.empty(); }
  // The worker's own curve; for a worker that is not listed, the mean of all. The profile is not empty.
  [[nodiscard]] const Cubic& of(const std::string& name, std::uint32_t slot) const;

 private:
  std::map<std::string, Cubic> by_name_;
  std::vector<Cubic> by_slot_;
  Cubic mean_;
};

}  // namespace steelyard::balancing
