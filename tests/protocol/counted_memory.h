// Counts requested memory: this test program replaces operator new.
#pragma once

#include <cstddef>

namespace steelyard::test {

struct CountedMemory {
  std::size_t largest = 0;  // bytes of the largest single request
  std::size_t total = 0;    // bytes of all requests together
};

// Counts for this thread only. counted(): since start_counting().
void start_counting();
CountedMemory counted();

}  // namespace steelyard::test
