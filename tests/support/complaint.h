// The message of a Failure, as shown to users.
#pragma once

#include <functional>
#include <string>

#include "core/error.h"

namespace steelyard {

// Runs `work`; returns the message of its Failure, or an empty string if it succeeds.
inline std::string complaint_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

}  // namespace steelyard
