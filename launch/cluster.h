// Cluster: the processes of a plan. Starts them on their hosts, does what Supervision decides when they end,
// and shows what those on other hosts say. One thread.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launch/host.h"
#include "launch/plan.h"
#include "launch/supervision.h"
#include "report/run_directory.h"

namespace steelyard {

class Cluster {
 public:
  // Logs go to the run directory; `lock` is handed on to a scheduler that this very process starts.
  // `way_back` as for Supervision. Plan and directory outlive this.
  Cluster(const LaunchPlan& plan, const RunDirectory& run, int lock, bool quiet,
          std::function<std::string()> way_back);

  // Until the job is over, and all processes and connections with it; the job's exit code.
  int run(const std::atomic<bool>& interrupted);

 private:
  struct Place {
    std::string name;
    std::unique_ptr<Host> host;
    bool lost = false;
  };

  void look_after();
  void hear(Place& place, const HostReady& message);
  void hear(Place& place, const Said& message);
  void hear(Place& place, const ProcessEnded& message);
  void lose(Place& place, const Failure& why);
  void act(const Steps& steps);
  void start(const LaunchProcess& process);
  void tell(const std::string& process, const ToHost& message);
  void leave();
  void wait_until(const std::function<bool()>& is_so, Duration timeout);

  const LaunchPlan& plan_;
  const RunDirectory& run_;
  const bool quiet_;
  Supervision supervision_;
  std::map<std::string, bool> running_;  // processes
  std::optional<int> code_;
  // The scheduler may not have told the others to end: it was killed, or nothing is known of it.
  bool scheduler_killed_ = false, scheduler_lost_ = false;
  std::vector<Place> places_;  // first to go
};

}  // namespace steelyard
