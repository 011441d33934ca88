// fuzz_guided TARGET FOLDER [OPTION...]: runs libFuzzer on one target. Inputs that reach new code are kept in
// FOLDER, which starts with the target's valid inputs. Options are libFuzzer's.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/fuzz/targets.h"

namespace {

using namespace steelyard;

const fuzz::Target* target = nullptr;

void write_inputs(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  int number = 0;
  for (const fuzz::Bytes& input : target->corpus()) {
    std::ofstream file(folder / ("valid-" + std::to_string(number++)), std::ios::binary);
    for (const std::byte it : input) file.put(static_cast<char>(it));
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** words) {
  for (const fuzz::Target& it : fuzz::targets()) {
    if (*count > 2 && it.name == (*words)[1]) target = &it;
  }
  if (target == nullptr) {
    std::fprintf(stderr, "fuzz_guided TARGET FOLDER [OPTION...], one of:\n");
    for (const fuzz::Target& it : fuzz::targets()) std::fprintf(stderr, "  %s\n", it.name.c_str());
    std::exit(2);
  }
  write_inputs((*words)[2]);
  (*words)[1] = (*words)[0];  // the remaining arguments are libFuzzer's
  ++*words;
  --*count;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  target->read(std::as_bytes(std::span(data, size)));
  return 0;
}
