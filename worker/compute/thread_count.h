// How many threads a worker computes with, as it is written: a number, or "auto" for as many as there are
// cores that the process may run on (its affinity, which taskset and container managers set).
#pragma once

#include <string>
#include <string_view>

namespace steelyard {

bool is_thread_count(std::string_view text);
const std::string& thread_count_expected();  // ends a message that begins with "give"
// At least 1. "auto" is looked up in the process that calls. Throws Failure (configuration).
unsigned thread_count(const std::string& text);

}  // namespace steelyard
