// NoPlan: thrown if measurements allow no plan, such as a curve that is not a number.
//
// Measurements come from other machines, so a policy cannot rely on them. It throws NoPlan if its own numbers
// are invalid; the caller then divides equally (scheduler/rounds/planner.h).
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
