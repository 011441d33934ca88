#include "app/hosts/examination.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>

#include "app/config/job_file.h"
#include "app/config/prepare_job.h"
#include "app/config/reach.h"
#include "app/launch/local_host.h"
#include "app/processes/processes.h"
#include "core/error.h"
#include "core/processor.h"
#include "core/text.h"
#include "nn/cuda_devices.h"

namespace steelyard {
namespace {

namespace fs = std::filesystem;

// The number after a name at the start of a line, in bytes; files of /proc count in kB.
std::optional<std::uint64_t> kilobytes_in(const std::string& file, const std::string& name) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name)) continue;
    const std::string_view rest = trimmed(std::string_view(line).substr(name.size()));
    const auto number = number_in<std::uint64_t>(rest.substr(0, rest.find(' ')));
    if (number) return *number * 1024;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> number_of(const std::string& file) {
  std::string word;
  std::ifstream(file) >> word;
  return number_in<std::uint64_t>(word);  // "max": none
}

std::uint64_t resident_bytes() { return kilobytes_in("/proc/self/status", "VmRSS:").value_or(0); }

std::vector<std::string> texts_at(const Json& object, const char* key) {
  std::vector<std::string> all;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return all;
  for (const Json& it : *found)
    if (it.is_string()) all.push_back(it.get<std::string>());
  return all;
}

// Opens the data and builds the model as a worker with these options does.
Json loaded(const Json& load, const Job& job) {
  Json answer;
  try {
    WorkerOptions options;
    options.data_options = texts_at(load, "data");
    options.spec.name = text_at(load, "worker");
    options.spec.device = text_at(load, "device");
    options.spec.precision = text_at(load, "precision");
    const std::uint64_t before = resident_bytes();
    const Workload workload = workload_of(options, job, device_of(options.spec));
    answer["parameters"] = described(workload).layout.size();
    answer["bytes"] = resident_bytes() - std::min(before, resident_bytes());
  } catch (const Failure& failure) {
    answer["error"] = failure.what();
    answer["code"] = static_cast<int>(failure.code());
  }
  return answer;
}

std::string without_script(const std::string& python, const std::string& script) {
  std::error_code ignored;
  if (script.empty()) return "";
  if (!is_runnable(python))
    return "there is no program " + python + " there: install it, or correct STEELYARD_PYTHON";
  if (!fs::is_regular_file(script, ignored))
    return "there is no script " + script + " there: copy it, or correct directory = in the hosts file";
  return "";
}

Json gpus_here() {
  Json all = Json::array();
  for (const nn::CudaDevice& it : nn::cuda_devices()) all.push_back(it.name);
  return all;
}

Json facts(const Json& question) {
  Json answer;
  const std::string directory = text_at(question, "directory");
  if (!directory.empty() && chdir(directory.c_str()) != 0) {
    answer["error"] = "there is no directory " + directory +
                      " to run in: create it, or correct directory = in the hosts file";
  }
  std::error_code unknown;
  const fs::space_info space = fs::space(".", unknown);
  answer["cores"] = allowed_cores();
  answer["processor"] = processor_name();
  answer["memory_free"] = free_memory();
  answer["disk_free"] = unknown ? 0 : space.available;
  answer["writable"] = access(".", W_OK) == 0;
  answer["place"] = fs::current_path(unknown).string();
  answer["gpus"] = gpus_here();
  if (answer.contains("error")) return answer;
  answer["script"] = without_script(text_at(question, "python"), text_at(question, "script"));
  answer["loads"] = Json::array();
  if (text_at(question, "job").empty()) return answer;
  const Job job = parse_job(text_at(question, "job"), "the job").job;
  for (const Json& load : question.value("loads", Json::array()))
    answer["loads"].push_back(loaded(load, job));
  return answer;
}

Json clock_here() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {{"seconds", std::chrono::duration<double>(now).count()}};
}

Json connected_line(const Json& question) {
  const LineSpeed line = measure_line({text_at(question, "host"), text_at(question, "port")},
                                      text_at(question, "token"), number_at(question, "speed", 0) > 0);
  return {{"round_trip_s", line.round_trip_s},
          {"there_bytes_s", line.there_bytes_s},
          {"back_bytes_s", line.back_bytes_s}};
}

}  // namespace

std::uint64_t free_memory() {
  std::uint64_t free = kilobytes_in("/proc/meminfo", "MemAvailable:").value_or(0);
  const auto most = number_of("/sys/fs/cgroup/memory.max"), used = number_of("/sys/fs/cgroup/memory.current");
  if (most && used) free = std::min(free, *most - std::min(*most, *used));
  return free;
}

Json Examination::answer(const Json& question) {
  const std::string kind = text_at(question, "ask");
  Json answer;
  try {
    if (kind == "facts") answer = facts(question);
    if (kind == "clock") answer = clock_here();
    if (kind == "connect") answer = connected_line(question);
    if (kind == "listen") {
      const HostPort place{text_at(question, "host"), text_at(question, "port")};
      ends_.push_back(std::make_unique<LineEnd>(place, text_at(question, "token")));
      answer["port"] = ends_.back()->port();
    }
  } catch (const Failure& failure) {
    answer["error"] = failure.what();
    answer["code"] = static_cast<int>(failure.code());
  }
  answer["answer"] = kind;
  return answer;
}

int run_examine(const ExamineOptions&) {
  Examination examination;
  const auto say = [](const std::string& line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  };
  say(to_line(FromHost{own_release()}));
  for (std::string line; std::getline(std::cin, line);) say(dump_json(examination.answer(parse_json(line))));
  return static_cast<int>(ExitCode::ok);
}

}  // namespace steelyard
