// The jobs that the scripts of `steelyard run` join after their first one, as for fine-tuning. A script
// requests job N, from 2, by creating the file SOCKETS/next/N, and joins it through the sockets in SOCKETS/N
// (bindings/python/steelyard/_cluster.py). The cluster of that job is a child process, `steelyard run
// --sockets SOCKETS/N`, with a run directory of its own. Scripts that are killed in such a job are not
// restarted; the others continue.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "app/launch/children.h"
#include "app/launch/launch_plan.h"

namespace steelyard {

class FurtherJobs {
 public:
  // std::nullopt: scripts may join one job only.
  explicit FurtherJobs(std::optional<FurtherRuns> how);
  ~FurtherJobs();  // kills a job that still runs
  FurtherJobs(const FurtherJobs&) = delete;
  FurtherJobs& operator=(const FurtherJobs&) = delete;

  // Starts the next job if it is requested and no other one runs; `scripts` processes are its workers. A job
  // that waits for a worker that has exited is stopped.
  void look(std::size_t scripts);
  void stop();  // stops the job that runs, with a checkpoint; no other one is started
  [[nodiscard]] bool running() const { return children_.running() > 0; }
  [[nodiscard]] bool stopped() const { return stopped_ && number_ > 1; }  // a job was stopped
  [[nodiscard]] int code() const { return code_; }  // of the first job that failed; 0: none has failed

 private:
  void start(std::size_t scripts);
  void end();
  [[nodiscard]] bool has_begun() const;

  const std::optional<FurtherRuns> how_;
  unsigned number_ = 1;  // of the last job
  std::size_t workers_ = 0;
  std::string directory_;  // of its run
  int code_ = 0;
  bool stopped_ = false, ending_ = false;
  Children children_;
};

}  // namespace steelyard
