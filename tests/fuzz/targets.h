// The fuzzers' targets by name, each with valid inputs that the code itself has made.
#pragma once

#include <string>

#include "tests/fuzz/entry.h"
#include "tests/fuzz/mutation.h"

namespace steelyard::fuzz {

struct Target {
  std::string name;
  bool (*read)(std::span<const std::byte>);
  std::vector<Bytes> (*corpus)();
  int inputs;  // so many take the test about a second
};

const std::vector<Target>& targets();

}  // namespace steelyard::fuzz
