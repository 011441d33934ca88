// What `steelyard doctor` has found about the hosts of a job, as a table, as problems with their remedies,
// and as JSON. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/json.h"

namespace steelyard {

struct Problem {
  ExitCode code = ExitCode::configuration;
  std::string text;      // what, where, and the remedy
  bool warning = false;  // the job can run all the same
};

struct HostFacts {
  std::string name, way;  // the way is "ssh ann@lion"
  std::string roles;      // "scheduler, ada"
  bool answered = false;
  std::string release;
  unsigned cores = 0;
  std::string processor;
  std::vector<std::string> gpus;
  std::uint64_t memory_free = 0, memory_needed = 0;  // bytes; needed is the least
  std::uint64_t disk_free = 0, disk_needed = 0;      // of the working directory
  std::string directory;
  std::optional<bool> data;                      // could be opened; nothing if the host opens none
  std::optional<bool> ports;                     // could be listened on; nothing if it listens on none
  double clock_offset_s = 0, clock_error_s = 0;  // against this machine
  std::vector<Problem> problems;
};

// A connection that the job needs.
struct LineFacts {
  std::string from, to, endpoint;
  std::optional<Problem> problem;
  double round_trip_s = 0, there_bytes_s = 0, back_bytes_s = 0;  // speed 0: not measured
};

struct HostsReport {
  bool with_job = false;
  std::vector<HostFacts> hosts;
  std::vector<LineFacts> lines;

  // Adds the problems that follow from the numbers: too little memory or disk, wrong clocks.
  void judge();
  // All of them, by host, then by line.
  [[nodiscard]] std::vector<Problem> problems() const;
  // 0 if there is no problem but warnings, else the code of the first one.
  [[nodiscard]] ExitCode code() const;
};

std::string table_of(const HostsReport& report, std::size_t width = 0);  // as of aligned_lines()
Json json_of(const HostsReport& report);

}  // namespace steelyard
