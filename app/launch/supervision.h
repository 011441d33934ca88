// Supervision: decides what to do when a host answers or is lost, and when a process of the job exits.
// Cluster (app/launch/local_cluster.h) carries it out.
//
//  - No process is started before all hosts have answered, since training begins with all of them. A host
//    that does not answer ends the launch, when all others have answered or failed, too.
//  - The processes of a lost host are gone for good, and the job continues without them. If the scheduler's
//    host is lost, the job ends.
//  - When the scheduler exits, the job ends with its exit code. A killed scheduler is restarted and continues
//    (app/processes/recovered_run.h), unless it was killed 12 times in a row or the job was ending anyway.
//  - A server or worker that was killed, or that lost its connection to the scheduler (69), is restarted: at
//    once if it has starts left, otherwise when the next start is due (Starts).
//  - After 12 kills or 3 lost connections in a row it is restarted only once a minute, and no longer counted
//    on.
//  - A process that exited with any other code would fail again, and is not restarted. That is decided after
//    two seconds, since the scheduler may be about to end the job.
//  - A script that exits with 0 before the job is done, as one that never joins does, is gone, too. If a
//    script failed and the job's code is 0, the code becomes 1. If the job ends within those two seconds, the
//    script's message is shown with the job's end. A restarted script does not count: it may have missed the
//    job's end.
//  - In a plan without a scheduler, one task of a job that an engine starts (app/member/member.h), the job is
//    over when all processes are gone; its code is that of the last one to exit. An end on the user's request
//    reaches all processes. A process that would be restarted once a minute is gone: the engine starts the
//    task again. One that exited with 75 while others run was refused for now, and is restarted.
//  - The scheduler is notified of processes that are gone, or no longer counted on. It ends the job if the
//    training has not begun, or no worker is left. While no worker runs and none will be started, the
//    notification is repeated every second: the scheduler may not yet have noticed the loss of the last one.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/launch/launch_plan.h"
#include "core/time.h"

namespace steelyard {

// Rate limit of the restarts of a process (token bucket): three starts at first, and one more every five
// seconds, up to three.
class Starts {
 public:
  [[nodiscard]] Time next() const;  // when a start is available
  void take(Time now);              // uses one, even if none is available

 private:
  Time full_;  // when three are available again
};

// The actions that follow, in this order.
struct Steps {
  std::vector<std::string> says;    // messages for the user
  std::vector<std::string> starts;  // names of processes to restart
  bool tell = false;                // notify the scheduler that a process is gone: SIGUSR2
  bool end = false;                 // SIGTERM to the scheduler; without one to all processes
  std::optional<int> code;          // the job is over: its exit code

  void add(Steps more);
};

class Supervision {
 public:
  // `way_back` returns how to resume after the scheduler was killed. The plan must outlive this.
  Supervision(const LaunchPlan& plan, std::function<std::string()> way_back);

  bool host_ready(const std::string& host);  // true if it was the last one: all processes must be started
  // The connection to a host has ended. `why` has the message, and the job's code if the host never answered.
  // Before the start, the code is set once all hosts have answered or are lost, so that all
  // of them are reported.
  Steps host_lost(const std::string& host, const Failure& why);
  // A process has exited; `status` is from wait(). `words` are appended to the message: "; its log is x.log".
  Steps ended(Time now, const std::string& name, int status, const std::string& words);
  Steps interrupted();   // the user stops the job
  Steps wake(Time now);  // time has passed

 private:
  enum class Stage { running, doubtful, waiting, gone };
  struct Watched {
    const LaunchProcess* it = nullptr;
    Stage stage = Stage::running;
    std::optional<Time> began{};  // time of the last restart; std::nullopt before the first
    Starts starts{};
    Time next{};                            // waiting: when it is started
    unsigned killed = 0, out_of_sight = 0;  // kills and lost connections in a row
    bool counted_on = true;
    int status = 0;  // doubtful: its status, when it exited, and the end of its log
    Time since{};
    std::string words{};
  };

  [[nodiscard]] bool started() const { return ready_.size() == plan_.hosts.size(); }
  void end_before_start(Steps& steps) const;
  [[nodiscard]] std::string called(const LaunchProcess& process) const;
  Steps job_over(const Watched& scheduler, int status);
  [[nodiscard]] Steps task_over() const;
  Steps scheduler_killed(Time now, Watched& scheduler, int status);
  Steps failed(Time now, Watched& process);
  Steps again(Time now, Watched& process);
  Steps start(Time now, Watched& process);
  [[nodiscard]] bool worker_left(Stage stage) const;
  [[nodiscard]] bool nobody_left() const;
  [[nodiscard]] bool any_left() const;  // a process runs, or will be restarted

  const LaunchPlan& plan_;
  std::set<std::string> ready_;        // hosts that have answered, once
  std::set<std::string> unreachable_;  // and those lost before the start
  std::optional<int> before_start_;    // the code of the first of these
  std::vector<Watched> processes_;
  const std::function<std::string()> way_back_;
  const bool leads_;
  int last_status_ = 0;       // of the process that exited last
  bool ending_ = false;       // the user has stopped the job
  bool gone_ = false;         // a process is gone: a restarted scheduler must be notified
  bool finished_ = false;     // a process exited with 0, so the job is done
  std::optional<Time> told_;  // when the scheduler was last notified that no worker is left
};

}  // namespace steelyard
