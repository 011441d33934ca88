// The repository as text: what the tidy tests read.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace steelyard::test {

struct SourceFile {
  std::string path;                // from the root, "server/shard/shard.cpp"
  std::vector<std::string> lines;  // as they are
  std::vector<std::string> code;   // C++ only: the lines without comments and with empty literals
  std::vector<std::string> comments, literals;  // C++ only: the text that `code` leaves out, line for line

  [[nodiscard]] std::string folder() const;                       // "server"
  [[nodiscard]] bool under(const std::string& place) const;       // a folder, or the file itself
  [[nodiscard]] bool ends_with(const std::string& suffix) const;  // of its path
};

// Everything below the root that belongs to the repository, in order of path.
const std::vector<SourceFile>& source_tree();

bool is_code(const SourceFile& file);     // C++ or CUDA
bool is_product(const SourceFile& file);  // code that is shipped: not tests, benches, examples

// Fills code, comments and literals from the lines of a C++ file.
void split_code(SourceFile& file);

// "server/shard/shard.cpp:12: what" for each finding, for one readable failure.
std::string listed(const std::vector<std::string>& findings);

}  // namespace steelyard::test
