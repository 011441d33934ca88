// How much memory is asked for: this test program has an operator new that counts.
#pragma once

#include <cstddef>

namespace steelyard::test {

struct CountedMemory {
  std::size_t largest = 0;  // bytes of the largest single request
  std::size_t total = 0;    // bytes of all requests together
};

// Of this thread, since start_counting().
void start_counting();
CountedMemory counted();

}  // namespace steelyard::test
