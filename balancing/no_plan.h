// NoPlan: measurements from which nothing can be planned, such as a curve that is not a number.
//
// Measurements come from other machines, so a policy cannot rely on them. It throws this where its own
// numbers make no sense, and whoever asked it for a plan divides equally instead
// (scheduler/rounds/planner.h).
#pragma once

#include <stdexcept>

namespace steelyard::balancing {

class NoPlan : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline void require_sense(bool condition, const char* otherwise) {
  if (!condition) [[unlikely]]
    throw NoPlan(otherwise);
}

}  // namespace steelyard::balancing
