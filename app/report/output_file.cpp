#include "app/report/output_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "core/error.h"

namespace steelyard {

namespace {

[[noreturn]] void refuse(const std::string& option, const std::string& path, int reason) {
  throw Failure(ExitCode::io, path + ": the result could not be written (" + std::strerror(reason) +
                                  "); give " + option + " another place");
}

}  // namespace

void check_output(const std::string& option, const std::string& path) {
  if (path.empty() || path == "-") return;
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) refuse(option, path, EISDIR);
  const bool there = std::filesystem::exists(path, ignored);
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const std::string place = there ? path : folder.empty() ? "." : folder.string();
  if (access(place.c_str(), there ? W_OK : W_OK | X_OK) != 0) refuse(option, path, errno);
}

void write_output(const std::string& option, const std::string& path, const std::string& text) {
  std::FILE* file = path == "-" ? stdout : std::fopen(path.c_str(), "wb");
  bool good = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file == stdout) good = good && std::fflush(file) == 0;
  if (file != nullptr && file != stdout) good = std::fclose(file) == 0 && good;
  if (!good) refuse(option, path, errno);
}

}  // namespace steelyard
