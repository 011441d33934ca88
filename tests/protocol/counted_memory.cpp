#include "tests/protocol/counted_memory.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace {

thread_local steelyard::test::CountedMemory memory;

}  // namespace

namespace steelyard::test {

void start_counting() { memory = {}; }
CountedMemory counted() { return memory; }

}  // namespace steelyard::test

// The array forms call these. The measured code does not use the aligned forms.
void* operator new(std::size_t size) {
  memory.largest = std::max(memory.largest, size);
  memory.total += size;
  if (void* bytes = std::malloc(size == 0 ? 1 : size)) return bytes;
  throw std::bad_alloc();
}
void operator delete(void* bytes) noexcept { std::free(bytes); }
void operator delete(void* bytes, std::size_t) noexcept { std::free(bytes); }
