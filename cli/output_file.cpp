#include "cli/output_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/error.h"

namespace steelyard {

void write_output(const std::string& option, const std::string& path, const std::string& text) {
  std::FILE* file = path == "-" ? stdout : std::fopen(path.c_str(), "wb");
  bool good = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file == stdout) good = good && std::fflush(file) == 0;
  if (file != nullptr && file != stdout) good = std::fclose(file) == 0 && good;
  if (good) return;
  const std::string why = std::strerror(errno);
  throw Failure(ExitCode::io,
                path + ": the result could not be written (" + why + "); give " + option + " another place");
}

}  // namespace steelyard
