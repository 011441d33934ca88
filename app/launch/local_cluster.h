// Cluster: the processes of a plan. Starts them on their hosts, does what Supervision decides when they end,
// and shows what those on other hosts say. One thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/launch/cluster_host.h"
#include "app/launch/launch_plan.h"
#include "app/launch/supervision.h"
#include "app/report/run_directory.h"

namespace steelyard {

class Cluster {
 public:
  // Logs go to the run directory; `lock` is handed on to a scheduler that this very process starts.
  // `way_back` as for Supervision. Plan and directory outlive this.
  Cluster(const LaunchPlan& plan, const RunDirectory& run, int lock, bool quiet,
          std::function<std::string()> way_back);

  // Until the job is over, and all processes and connections with it; the job's exit code. A script may go on
  // after the job for as long as it likes, and if it fails then, the code is 1.
  int run(const std::function<bool()>& interrupted);

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
  [[nodiscard]] bool is_script(const std::string& process) const;
  void tell(const std::string& process, const ToHost& message);
  [[nodiscard]] bool runs_script(bool restarted) const;
  void wait_for_scripts(const std::function<bool()>& interrupted, bool patient);
  void leave();
  void wait_until(const std::function<bool()>& is_so, Duration timeout);

  const LaunchPlan& plan_;
  const RunDirectory& run_;
  const bool quiet_;
  const bool clears_line_;  // before what it says, where a scheduler may have begun one on the same terminal
  Supervision supervision_;
  std::map<std::string, bool> running_;  // processes
  std::set<std::string> restarted_;
  std::optional<int> code_;
  // The scheduler may not have told the others to end: it was killed, or nothing is known of it.
  bool scheduler_killed_ = false, scheduler_lost_ = false;
  std::vector<Place> places_;  // first to go
};

}  // namespace steelyard
