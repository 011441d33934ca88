// RemoteHost: a host at the end of a connection, the standard input and output of a process that leads there:
// ssh, `ip netns exec`, or `attend` itself.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launch/children.h"
#include "launch/host.h"
#include "launch/pipes.h"
#include "launch/plan.h"
#include "report/line_file.h"
#include "report/run_directory.h"

namespace steelyard {

class RemoteHost final : public Host {
 public:
  // What processes say goes to their logs in the run directory; what ssh or a login shell says, to that of
  // the host. Plan, host and directory outlive this.
  RemoteHost(const LaunchPlan& plan, const LaunchHost& host, const RunDirectory& run);

  void tell(const ToHost& message) override;
  std::vector<FromHost> hear(Time now) override;
  void leave() override;
  [[nodiscard]] bool over() const override { return left_ && children_.running() == 0; }

 private:
  void hear(const FromHost& message, Time now);
  LineFile& log(const std::string& name);
  [[nodiscard]] Failure lost(int status) const;

  const LaunchPlan& plan_;
  const LaunchHost& host_;
  const RunDirectory& run_;
  std::map<std::string, LineFile> logs_;
  Pipe to_host_ = make_pipe(), from_host_ = make_pipe(), errors_ = make_pipe();
  LineWriter in_{std::move(to_host_.write)};
  LineReader out_{std::move(from_host_.read), longest_launch_line};
  LineReader error_{std::move(errors_.read), longest_launch_line};
  std::deque<std::string> words_;  // the last ones on standard error
  const Time since_ = steady_now();
  Time beat_ = since_;
  bool ready_ = false, left_ = false;
  std::optional<int> status_;  // once it has ended
  Children children_;          // first to go
};

}  // namespace steelyard
