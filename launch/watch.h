// LaunchWatch: what follows when the processes of a launch end and hosts are lost. It decides; `launch` does.
//
// For processes the rules are those of a job on one machine (launch/supervision.h). For hosts:
//  - nothing is started before all of them have answered, since training begins with all; one that does not
//    answer ends the launch;
//  - when a host is lost, what ran there is gone for good, and the job goes on without. When it was the
//    scheduler's, nothing goes on.
#pragma once

#include <set>
#include <string>

#include "launch/plan.h"
#include "launch/supervision.h"

namespace steelyard {

class LaunchWatch {
 public:
  explicit LaunchWatch(const LaunchPlan& plan);  // the plan outlives it

  bool host_ready(const std::string& host);  // whether it was the last one: all processes are to be started
  // The connection to a host has ended; why, and the code if it had never answered.
  Steps host_lost(const std::string& host, const Failure& why);
  Steps process_ended(Time now, const std::string& name, int status, const std::string& words) {
    return supervision_.ended(now, name, status, words);
  }
  Steps interrupted();
  Steps wake(Time now);  // time has passed

 private:
  [[nodiscard]] bool started() const { return ready_.size() == plan_.hosts.size(); }

  const LaunchPlan& plan_;
  Supervision supervision_;
  std::set<std::string> ready_;  // hosts that have answered, once
  bool interrupted_ = false;
};

}  // namespace steelyard
