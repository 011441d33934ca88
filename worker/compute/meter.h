// Meter: how busy this machine is, from /proc. Leading signals for predictors: they change before the times
// do.
//
//  cpu     share of the machine's processor time that was idle or ours since the last call, 0..1: what a
//  worker alone on the machine would call 1, whatever it does itself. Time that the hypervisor gave to
//  others counts as taken. left    share that was idle, or used by nice programs (nice value above 0), or by
//  the system for us: what a polite worker (worker/compute/polite.h) may use. What the system does for other
//  nice programs cannot be told apart, and counts as taken memory  what the kernel thinks can be had without
//  swapping (MemAvailable), in MB of 2^20 bytes
//
// Of a process that is bound to some of the machine's processors (taskset, a container) the machine is
// those: what happens on the others neither helps nor disturbs it.
//
// -1 for what cannot be known: no /proc, or not the lines we look for. The kernel counts processor time in
// ticks of 10 ms, so calls less than 100 ms apart tell little. Not for two threads at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace steelyard {

struct Reading {
  double cpu = -1;
  double memory = -1;
  double left = -1;
};

// Ticks since the machine started.
struct MachineTicks {
  std::uint64_t all = 0, idle = 0;  // of all processors together; idle: waiting for a disk included
  std::uint64_t nice = 0;           // in programs that are nice, and not in the system on their behalf
  friend bool operator==(const MachineTicks&, const MachineTicks&) = default;
};

struct ProcessTicks {
  std::uint64_t all = 0, system = 0;  // system: in the kernel on its behalf
  friend bool operator==(const ProcessTicks&, const ProcessTicks&) = default;
};

// The processors that this thread, and what it starts, may use; empty: all that the machine has.
std::vector<unsigned> bound_to();

// What the files say; nothing if they say it in another way.
// /proc/stat; of these processors alone, unless there are none.
std::optional<MachineTicks> parse_machine_ticks(std::string_view stat,
                                                const std::vector<unsigned>& processors = {});
std::optional<ProcessTicks> parse_process_ticks(std::string_view process_stat);  // /proc/self/stat
std::optional<double> parse_available_memory(std::string_view meminfo);          // /proc/meminfo; MB

// Keeps the counters of the last call, to answer with differences.
class Meter {
 public:
  Meter() : Meter("/proc", bound_to()) {}
  explicit Meter(std::filesystem::path proc, std::vector<unsigned> processors = {});

  [[nodiscard]] unsigned cores() const;  // of what it calls the machine
  Reading measure();                     // since the last call; the first time, since the meter was made

 private:
  struct Ticks {
    MachineTicks machine;
    ProcessTicks ours;
  };
  [[nodiscard]] std::optional<Ticks> ticks() const;

  std::filesystem::path proc_;
  std::vector<unsigned> processors_;
  std::optional<Ticks> last_;
  double cpu_ = -1, left_ = -1;  // of the last call: the answer again if no tick has passed since
};

}  // namespace steelyard
