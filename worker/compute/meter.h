// Meter: the load of this machine, from /proc. Leading signals for predictors: they change before compute
// times do.
//
//  cpu     share of the machine's processor time that was idle or used by this process since the last call,
//          0..1. A worker alone on its machine has 1, however busy it is. Time stolen by the hypervisor
//          counts as used by others.
//  left    share that was idle, used by nice programs (nice value above 0), or used by the kernel for this
//          process: what a background worker (worker/compute/polite.h) may use. Kernel time spent for other
//          nice programs cannot be separated, and counts as used by others.
//  memory  memory available without swapping (MemAvailable), in MB of 2^20 bytes
//
// If the process is bound to some of the machine's processors (taskset, a container), only those count as the
// machine.
//
// Values are -1 if unknown: without /proc, or if its format is unexpected. The kernel counts processor time
// in ticks of 10 ms, so readings less than 100 ms apart are imprecise. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/descriptor.h"

namespace steelyard {

struct Reading {
  double cpu = -1;
  double memory = -1;
  double left = -1;
};

// Ticks since the machine started.
struct MachineTicks {
  std::uint64_t all = 0, idle = 0;  // all processors together; idle includes waiting for a disk
  std::uint64_t nice = 0;           // in nice programs, without system time on their behalf
  friend bool operator==(const MachineTicks&, const MachineTicks&) = default;
};

struct ProcessTicks {
  std::uint64_t all = 0, system = 0;  // system: in the kernel on its behalf
  friend bool operator==(const ProcessTicks&, const ProcessTicks&) = default;
};

// The processors that this thread and its children may use; empty: all of the machine's.
std::vector<unsigned> bound_to();

// Parsers of files in /proc; std::nullopt for an unexpected format. From /proc/stat, only these processors
// are counted; if empty, all.
std::optional<MachineTicks> parse_machine_ticks(std::string_view stat,
                                                const std::vector<unsigned>& processors = {});
std::optional<ProcessTicks> parse_process_ticks(std::string_view process_stat);  // /proc/self/stat
std::optional<double> parse_available_memory(std::string_view meminfo);          // /proc/meminfo; MB

// A file in /proc. It stays open, since workers read several of them in every round.
class ProcFile {
 public:
  explicit ProcFile(std::filesystem::path path) : path_(std::move(path)) {}
  // Empty if there is no such file. Valid until the next call.
  std::string_view contents();

 private:
  std::filesystem::path path_;
  Descriptor descriptor_;
  std::string buffer_;
};

// Keeps the counters of the last call and returns differences.
class Meter {
 public:
  // All that a reading is made of, at one time; std::nullopt, or -1: unknown.
  struct Ticks {
    MachineTicks machine;
    ProcessTicks ours;
  };
  struct Counters {
    std::optional<Ticks> ticks;
    double memory = -1;
  };
  Meter() : Meter("/proc", bound_to()) {}
  explicit Meter(std::filesystem::path proc, std::vector<unsigned> processors = {});

  [[nodiscard]] unsigned cores() const;  // of what counts as the machine
  Reading measure();                     // since the last call, or since the meter was made
  [[nodiscard]] Counters counters();
  // The shares between two times, and the memory of the later one. Unknown if no tick has passed.
  static Reading between(const Counters& before, const Counters& after);

 private:
  ProcFile memory_, machine_, ours_;
  std::vector<unsigned> processors_;
  Counters last_;
  double cpu_ = -1, left_ = -1;  // of the last call: returned again if no tick has passed since
};

}  // namespace steelyard
