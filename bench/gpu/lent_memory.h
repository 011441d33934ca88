// Memory of the device that another process reads: CUDA IPC (nn/cuda/peer_values.h).
#pragma once

#include <string>
#include <vector>

namespace steelyard::bench {

// The section of this program that is the other process.
inline constexpr char reader_section[] = "read-lent";

// Lends numbers to a process of this program. Prints a row; throws if it reads other numbers.
void lend_to_a_process();

// That process, with the words after the section. Prints a failure, and returns its exit code.
int read_lent(const std::vector<std::string>& words);

}  // namespace steelyard::bench
