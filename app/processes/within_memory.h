// Memory that there is not, told to people.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "protocol/job.h"

namespace steelyard {

// Runs a part of `role` ("a scheduler"); memory that there is not becomes a Failure (failed) that says how
// large the model is.
void within_memory(const std::string& role, const Job& job, const std::function<void()>& work);

// Bytes of memory that this machine has.
std::uint64_t memory_of_machine();

}  // namespace steelyard
