#include "app/report/output_file.h"

#include <unistd.h>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "app/report/terminal_text.h"
#include "core/error.h"
#include "core/json.h"
#include "core/processor.h"
#include "nn/cuda_devices.h"
#include "protocol/codec.h"
#include "protocol/journal.h"

namespace steelyard {
namespace {

std::string date_text(std::chrono::system_clock::time_point now) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

std::string machine_text() {
  return host_name() + ", " + processor_name() + ", " + count_of(allowed_cores(), "core");
}

[[noreturn]] void refuse(const std::string& option, const std::string& path, int reason) {
  throw Failure(ExitCode::io, path + ": the result could not be written (" + std::strerror(reason) +
                                  "); give " + option + " another place");
}

}  // namespace

std::string origin_line() {
  const Json line = {{"began", date_text(std::chrono::system_clock::now())},
                     {"version", release()},
                     {"machine", machine_text()}};
  return dump_json(line);
}

std::string version_text() {
  std::string text = std::string("steelyard ") + release() + ", protocol " +
                     std::to_string(protocol_version) + ", journal " + std::to_string(journal_version) +
                     ", kernels for " + name(cpu_level()) +
                     (nn::built_with_cuda() ? ", CUDA devices:" : ", built without CUDA");
  if (nn::built_with_cuda() && nn::cuda_devices().empty()) text += " none";
  for (const nn::CudaDevice& device : nn::cuda_devices()) text += " " + device.name;
  return text + "\n";
}

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
  const bool reader_left = file == stdout && errno == EPIPE;  // as in `steelyard predict RUN | head`
  if (!good && !reader_left) refuse(option, path, errno);
}

}  // namespace steelyard
