// LaunchWatch: what follows when the processes of a launch end and hosts are lost. It decides; `launch` does.
//
// The rules are those of `train` on one machine (cli/train.cpp), and one for hosts:
//  - the end of the scheduler is the end of the job, with its exit code;
//  - a process that was killed is started again, three times at most;
//  - one that ended with a code of its own has said why: the job ends with that code, unless the scheduler is
//    about to end anyway. One that was told to leave (75) leaves the others the work;
//  - when a host is lost, what ran there is lost. The job goes on while the scheduler and a worker are left;
//    a host that never answered ends it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/launch/plan.h"
#include "core/time.h"

namespace steelyard {

// What to do now, in this order.
struct LaunchSteps {
  std::vector<std::string> says;    // for people
  std::vector<std::string> starts;  // processes, by name, once more
  bool end = false;                 // ask the scheduler to end
  std::optional<int> code;          // nothing is left to wait for: the job's exit code
};

class LaunchWatch {
 public:
  explicit LaunchWatch(const LaunchPlan& plan);  // the plan outlives it

  void host_ready(const std::string& host);
  LaunchSteps process_ended(Time now, const std::string& name, int status, const std::string& last_words);
  // The connection to a host has ended; why, and the code if it had never answered.
  LaunchSteps host_lost(const std::string& host, const Failure& why);
  LaunchSteps interrupted();
  LaunchSteps wake(Time now);  // time has passed

 private:
  struct Doubt {  // ended with a code that may be the job's own: then the scheduler ends too
    std::string name, words;
    int status = 0;
    Time since;
  };

  LaunchSteps failed(const std::string& name, int status, const std::string& words);
  LaunchSteps give_up(LaunchSteps steps, int code);
  [[nodiscard]] const LaunchProcess& process(const std::string& name) const;

  const LaunchPlan& plan_;
  std::set<std::string> ready_, lost_;  // hosts
  std::map<std::string, unsigned> restarts_;
  std::vector<Doubt> doubts_;
  bool ending_ = false;
  int code_ = 0;  // why, if it was our decision
};

}  // namespace steelyard
