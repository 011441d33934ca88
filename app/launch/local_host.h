// LocalHost: this machine. Starts roles as children of this process, and reports their exit status and,
// unless it goes to log files, their output. `train` has one in its own process; `attend` has one for a
// remote launcher.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/launch/children.h"
#include "app/launch/pipes.h"
#include "app/report/line_file.h"
#include "app/report/run_directory.h"

namespace steelyard {

HostReady own_release();  // of this program

class LocalHost final : public Host {
 public:
  LocalHost();  // reports the output of processes
  // Processes write to their logs in the run directory; the scheduler writes to this process's standard
  // output and error. Only the standard output of a script is also reported. The scheduler inherits `lock`.
  // The directory must outlive this.
  LocalHost(const RunDirectory& run, int lock);

  void tell(const ToHost& message) override;
  std::vector<FromHost> hear(Time now) override;
  void leave() override {}
  void signal_all(int signal) { children_.signal_all(signal); }
  [[nodiscard]] bool over() const override { return children_.running() == 0; }

 private:
  struct Voice {
    std::string name;
    LineReader out, error;
    std::unique_ptr<LineFile> log;  // gets the lines of `out`; may be null
  };

  void start(const StartProcess& message);
  void refuse(const StartProcess& message);
  void pass_on(Time now);

  const RunDirectory* run_ = nullptr;
  int lock_ = -1;
  std::vector<FromHost> news_;
  std::vector<std::unique_ptr<Voice>> voices_;
  Children children_;  // destroyed first
};

}  // namespace steelyard
