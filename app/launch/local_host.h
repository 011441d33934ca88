// LocalHost: this machine. Starts roles as children of this process, tells how they end and, unless it goes
// to files, what they say. `train` has one in its own process; `attend` has one for a launcher elsewhere.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/launch/children.h"
#include "app/launch/pipes.h"
#include "app/report/line_file.h"
#include "app/report/run_directory.h"

namespace steelyard {

class LocalHost final : public Host {
 public:
  LocalHost();  // what processes say is told
  // What processes say goes to their logs in a run directory, and the scheduler's words to where ours go.
  // What a script prints is told, too; its errors are not. The scheduler inherits `lock`. The directory
  // outlives this.
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
    std::unique_ptr<LineFile> log;  // of what is said to `out`; may be none
  };

  void start(const StartProcess& message);
  void refuse(const StartProcess& message);
  void pass_on(Time now);

  const RunDirectory* run_ = nullptr;
  int lock_ = -1;
  std::vector<FromHost> news_;
  std::vector<std::unique_ptr<Voice>> voices_;
  Children children_;  // first to go
};

}  // namespace steelyard
