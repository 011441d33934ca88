// The number of threads that a worker computes with on a CPU, as text: a number, or "auto" for all cores that
// the process may run on (core/processor.h). "auto-3" leaves three of them to others, such as a worker on a
// GPU. At least one thread remains.
#pragma once

#include <string>
#include <string_view>

namespace steelyard {

bool is_thread_count(std::string_view text);
const std::string& thread_count_expected();  // ends a message that begins with "give"
// A worker on a GPU keeps a core busy with launching kernels and waiting for them, one with reading samples,
// and together one with its messages: its own thread, and the I/O thread of ZeroMQ. If others compute there,
// the GPU waits.
inline constexpr unsigned cores_of_gpu_worker = 3;
// "auto" for a worker beside others that need this many cores: "auto-3". Other texts are returned unchanged.
std::string thread_count_beside(const std::string& text, unsigned cores);
// At least 1. "auto" is resolved in the calling process. Throws Failure (configuration).
unsigned thread_count(const std::string& text);

}  // namespace steelyard
