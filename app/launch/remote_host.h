// RemoteHost: a host at the end of a connection, the standard input and output of a process that leads there:
// ssh, `ip netns exec`, or `attend` itself.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "app/launch/children.h"
#include "app/launch/cluster_host.h"
#include "app/launch/host_door.h"
#include "app/launch/launch_plan.h"
#include "app/launch/pipes.h"
#include "app/report/run_directory.h"

namespace steelyard {

class RemoteHost final : public Host {
 public:
  // What processes say goes to their logs in the run directory; what ssh or a login shell says, to that of
  // the host; both as far as HostDoor takes it. `warn` gets what a person should know of the host; it is
  // called on the thread that calls this. Plan, host and directory outlive this.
  RemoteHost(const LaunchPlan& plan, const LaunchHost& host, const RunDirectory& run, Warning warn);

  void tell(const ToHost& message) override;
  std::vector<FromHost> hear(Time now) override;
  void leave() override;
  [[nodiscard]] bool over() const override { return left_ && children_.running() == 0; }

 private:
  void check(const HostReady& message);
  [[nodiscard]] Failure lost(int status) const;

  const LaunchPlan& plan_;
  const LaunchHost& host_;
  HostDoor door_;
  Pipe to_host_ = make_pipe(), from_host_ = make_pipe(), errors_ = make_pipe();
  LineWriter in_{std::move(to_host_.write)};
  LineReader out_{std::move(from_host_.read), longest_launch_line};
  LineReader error_{std::move(errors_.read), longest_said};
  std::deque<std::string> words_;  // the last ones on standard error
  const Time since_ = steady_now();
  Time beat_ = since_;
  bool ready_ = false, left_ = false;
  std::optional<int> status_;  // once it has ended
  Children children_;          // first to go
};

}  // namespace steelyard
