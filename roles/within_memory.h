// Memory that there is not, told to people.
#pragma once

#include <functional>
#include <string>

#include "wire/job.h"

namespace steelyard {

// Runs a part of `role` ("a scheduler"); memory that there is not becomes a Failure (failed) that says how
// large the model is.
void within_memory(const std::string& role, const Job& job, const std::function<void()>& work);

}  // namespace steelyard
