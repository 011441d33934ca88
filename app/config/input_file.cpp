#include "app/config/input_file.h"

#include <fstream>

#include "core/error.h"

namespace steelyard {

std::string read_input(const std::string& path, const InputKind& kind) {
  constexpr std::size_t piece = 1 << 16;
  const std::size_t most = kind.most_mb << 20;
  std::ifstream in(path, std::ios::binary);
  std::string text;
  // Not by the size that the file system tells: a pipe has none.
  while (in && text.size() <= most) {
    const std::size_t before = text.size();
    text.resize(before + piece);
    in.read(text.data() + before, piece);
    text.resize(before + static_cast<std::size_t>(in.gcount()));
  }
  // A directory opens, and then cannot be read.
  if (!in.is_open() || in.bad())
    throw Failure(ExitCode::configuration, path + ": cannot be read: " + kind.remedy);
  if (text.size() > most) {
    throw Failure(ExitCode::configuration, path + ": is no " + kind.name + ": it has more than " +
                                               std::to_string(kind.most_mb) + " MB");
  }
  return text;
}

}  // namespace steelyard
