// libFuzzer's door to the readers of checkpoints.
#include "tests/fuzz/entry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  steelyard::fuzz::read_checkpoint_file(std::as_bytes(std::span(data, size)));
  return 0;
}
