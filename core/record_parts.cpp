#include "core/record_parts.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "core/text.h"

namespace steelyard {
namespace {

namespace fs = std::filesystem;

// "rounds.3.jsonl" of "rounds.jsonl".
std::optional<std::uint64_t> number_of(const fs::path& path, const fs::path& part) {
  if (part.extension() != path.extension()) return std::nullopt;
  const fs::path inner = part.stem();
  if (inner.stem() != path.stem() || inner.extension().empty()) return std::nullopt;
  const auto number = number_in<std::uint64_t>(inner.extension().string().substr(1));
  return number && *number > 0 ? number : std::nullopt;
}

std::string text_in(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

std::string part_of(const std::string& path, std::uint64_t number) {
  const fs::path whole(path);
  return (whole.parent_path() /
          (whole.stem().string() + "." + std::to_string(number) + whole.extension().string()))
      .string();
}

std::vector<std::uint64_t> closed_parts(const std::string& path) {
  const fs::path whole(path);
  std::vector<std::uint64_t> numbers;
  std::error_code error;
  const fs::path folder = whole.has_parent_path() ? whole.parent_path() : fs::path(".");
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (const auto number = number_of(whole.filename(), it->path().filename())) numbers.push_back(*number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

std::uint64_t last_closed_part(const std::string& path) {
  const std::vector<std::uint64_t> numbers = closed_parts(path);
  return numbers.empty() ? 0 : numbers.back();
}

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  for (const std::uint64_t number : closed_parts(path)) parts.push_back(part_of(path, number));
  parts.push_back(path);
  return parts;
}

std::uint64_t size_of_parts(const std::string& path) {
  std::uint64_t bytes = 0;
  for (const std::string& part : parts_of(path)) {
    std::error_code error;
    const std::uint64_t size = fs::file_size(part, error);
    if (!error) bytes += size;
  }
  return bytes;
}

std::string read_parts(const std::string& path) {
  constexpr int tries = 3;
  std::string text;
  for (int i = 0; i < tries; ++i) {
    const std::vector<std::string> parts = parts_of(path);
    text.clear();
    for (const std::string& part : parts) text += text_in(part);
    if (parts_of(path) == parts) break;
  }
  return text;
}

bool close_part(const std::string& path) {
  std::error_code error;
  fs::rename(path, part_of(path, last_closed_part(path) + 1), error);
  return !error;
}

// Files vanish from the newest on, so at each moment the rest is a record that is too long, or the wanted
// one.
void cut_parts(const std::string& path, std::uint64_t closed, std::uint64_t bytes) {
  if (last_closed_part(path) > closed) {
    fs::remove(path);
    while (last_closed_part(path) > closed + 1) fs::remove(part_of(path, last_closed_part(path)));
    fs::rename(part_of(path, closed + 1), path);
  }
  if (fs::file_size(path) > bytes) fs::resize_file(path, bytes);
}

}  // namespace steelyard
