// Files that people name, read as a whole.
#pragma once

#include <cstddef>
#include <string>

namespace steelyard {

// What is expected in a file, for messages: "job file", and the most that one may have.
struct InputKind {
  std::string name;
  std::size_t most_mb = 1;
  std::string remedy;  // what to do about a file that is not there
};

// Throws Failure (configuration) for what cannot be read, directories included, and what is too large.
std::string read_input(const std::string& path, const InputKind& kind);

}  // namespace steelyard
