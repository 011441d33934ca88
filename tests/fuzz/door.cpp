// libFuzzer's door to one entry: STEELYARD_FUZZ_ENTRY.
#include "tests/fuzz/entry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  steelyard::fuzz::STEELYARD_FUZZ_ENTRY(std::as_bytes(std::span(data, size)));
  return 0;
}
