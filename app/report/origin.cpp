#include "app/report/origin.h"

#include <unistd.h>

#include <array>
#include <chrono>
#include <ctime>

#include "core/json.h"
#include "core/processor.h"
#include "app/report/version_text.h"

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
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  const unsigned cores = allowed_cores();
  return std::string(host.data()) + ", " + processor_name() + ", " + std::to_string(cores) +
         (cores == 1 ? " core" : " cores");
}

}  // namespace

std::string origin_line() {
  const Json line = {{"began", date_text(std::chrono::system_clock::now())},
                     {"version", release()},
                     {"machine", machine_text()}};
  return dump_json(line);
}

}  // namespace steelyard
