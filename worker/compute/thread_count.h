// How many threads a worker computes with on a CPU, as it is written: a number, or "auto" for as many as
// there are cores that the process may run on (core/processor.h). "auto-2" leaves two of them to others, such
// as workers on GPUs, which keep a core busy each; one is always left to compute with.
#pragma once

#include <string>
#include <string_view>

namespace steelyard {

bool is_thread_count(std::string_view text);
const std::string& thread_count_expected();  // ends a message that begins with "give"
// "auto" of a worker beside so many others that need a core each: "auto-2". Any other text stays as it is.
std::string thread_count_beside(const std::string& text, unsigned others);
// At least 1. "auto" is looked up in the process that calls. Throws Failure (configuration).
unsigned thread_count(const std::string& text);

}  // namespace steelyard
