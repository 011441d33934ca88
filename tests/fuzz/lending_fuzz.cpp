// libFuzzer's door to the decoder of what links say to each other.
#include "tests/fuzz/entry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  steelyard::fuzz::decode_lending(std::as_bytes(std::span(data, size)));
  return 0;
}
