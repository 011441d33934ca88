// The number of threads that a worker computes with on a CPU, as text: a number, or "auto" for all cores that
// the process may run on (core/processor.h). "auto-2" leaves two of them to others, such as workers on GPUs,
// each of which keeps a core busy. At least one thread remains.
#pragma once

#include <string>
#include <string_view>

namespace steelyard {

bool is_thread_count(std::string_view text);
const std::string& thread_count_expected();  // ends a message that begins with "give"
// "auto" for a worker beside this many others that need a core each: "auto-2". Other texts are returned
// unchanged.
std::string thread_count_beside(const std::string& text, unsigned others);
// At least 1. "auto" is resolved in the calling process. Throws Failure (configuration).
unsigned thread_count(const std::string& text);

}  // namespace steelyard
