// `steelyard metrics`: the numbers of all runs in a folder, for Prometheus, at an address that outlives the
// jobs. It reads the records of the runs, also of those on other machines that share the folder; whether a
// run trains is known on its own machine alone (app/processes/run_journal.h: in_use).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "app/report/live/live_run.h"

namespace steelyard {

// Follows the files of a run.
class FollowedRun {
 public:
  explicit FollowedRun(std::string path) : path_(std::move(path)) {}

  // Reads what was added since the last call. A record that is shorter than before (its scheduler recovered),
  // and a job that changed, are read from the begin.
  void look(RunLife life);
  [[nodiscard]] RunMetrics metrics(double now) const { return run_->metrics(now); }  // after look()

 private:
  void begin_again();

  const std::string path_;
  std::string job_;
  std::unique_ptr<LiveRun> run_;
  std::uint64_t rounds_part_ = 0;  // the last closed part that was read (core/record_parts.h)
  std::uint64_t rounds_at_ = 0;    // bytes that were read of the part after it
  std::uint64_t events_at_ = 0;    // bytes that were read
};

// The runs in a folder that train, or that were written to in the last hours. For one thread.
class FolderMetrics {
 public:
  FolderMetrics(std::string folder, double keep_hours)
      : folder_(std::move(folder)), keep_hours_(keep_hours) {}

  // In Prometheus's format; `now`: seconds since 1970. Throws Failure (io) if the folder cannot be read.
  std::string text(double now);

 private:
  const std::string folder_;
  const double keep_hours_;
  std::map<std::string, FollowedRun> runs_;  // by path
};

struct MetricsCommand {
  std::string folder = "runs";
  std::string web = ":7433";  // app/web/place.h
  double keep_hours = 24;
};

// Serves until it is interrupted.
void run_metrics(const MetricsCommand& command);

}  // namespace steelyard
