// What went wrong, as a user reads it.
#pragma once

#include <functional>
#include <string>

#include "core/error.h"

namespace steelyard {

// What a Failure says; empty if there is none.
inline std::string complaint_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

}  // namespace steelyard
