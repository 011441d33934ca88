// Supervision: what follows when hosts answer and are lost, and when the processes of a job end. It decides;
// Cluster (app/launch/local_cluster.h) does.
//
//  - Nothing is started before all hosts have answered, since training begins with all; one that does not
//    answer ends the launch.
//  - When a host is lost, what ran there is gone for good, and the job goes on without. When it was the
//    scheduler's, nothing goes on.
//  - The end of the scheduler is the end of the job, and its exit code is the job's; but one that was killed
// is started again, as others are, and goes on where it was (app/processes/recovered_run.h). When that has
// failed
//    very often in a row, or the job was to end anyway, it is over.
//  - A server or worker that was killed, or that lost sight of the scheduler (69), is started again: at once
//    while it has starts in hand, else when the next one comes (Starts).
//  - One that has failed very often in a row is tried once a minute, and no longer counted on.
//  - One that ended with another code of its own has said why, and would again: it is not started again. For
//    a moment that is in doubt, since the scheduler may be about to end the job itself.
//  - A script may end with 0 though nobody told it to, as one that never joins does: it is gone, too. When
//    one has failed, the code is 1 where the job's is 0; if the job ends before that is beyond doubt, its
//    words are told with the job's end. One that was started again may have come too late for the job.
//  - The scheduler is told of processes that are gone, or no longer counted on. It ends the job if the
//    training has not begun or no worker is left. While no worker runs and none is about to be started, it is
//    told again and again: it may not have noticed yet that the last one is gone.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/launch/launch_plan.h"
#include "core/time.h"

namespace steelyard {

// The starts that a process has in hand: three at first; every five seconds one more comes, up to three.
class Starts {
 public:
  [[nodiscard]] Time next() const;  // when there is one
  void take(Time now);              // one, whether or not there is any

 private:
  Time full_;  // when there are three again
};

// What to do now, in this order.
struct Steps {
  std::vector<std::string> says;    // for people
  std::vector<std::string> starts;  // processes, by name, once more
  bool tell = false;                // the scheduler, that a process is gone: SIGUSR2
  bool end = false;                 // the scheduler is asked to end: SIGTERM
  std::optional<int> code;          // nothing is left to wait for: the job's exit code

  void add(Steps more);
};

class Supervision {
 public:
  // `way_back` says how to go on when the scheduler was killed. The plan outlives this.
  Supervision(const LaunchPlan& plan, std::function<std::string()> way_back);

  bool host_ready(const std::string& host);  // whether it was the last one: all processes are to be started
  // The connection to a host has ended; why, and the code if it had never answered.
  Steps host_lost(const std::string& host, const Failure& why);
  // A process has ended; `status` as wait() gives it. `words` are put behind that: "; its log is x.log".
  Steps ended(Time now, const std::string& name, int status, const std::string& words);
  Steps interrupted();   // the job is to end
  Steps wake(Time now);  // time has passed

 private:
  enum class Stage { running, doubtful, waiting, gone };
  struct Watched {
    const LaunchProcess* it = nullptr;
    Stage stage = Stage::running;
    std::optional<Time> began{};  // this life, if it is not the first
    Starts starts{};
    Time next{};                            // waiting: when it is started
    unsigned killed = 0, out_of_sight = 0;  // in a row
    bool counted_on = true;
    int status = 0;  // doubtful: how and when it ended, and its last words
    Time since{};
    std::string words{};
  };

  [[nodiscard]] bool started() const { return ready_.size() == plan_.hosts.size(); }
  [[nodiscard]] std::string called(const LaunchProcess& process) const;
  Steps job_over(const Watched& scheduler, int status);
  Steps scheduler_killed(Time now, Watched& scheduler, int status);
  Steps failed(Time now, Watched& process);
  Steps again(Time now, Watched& process);
  Steps start(Time now, Watched& process);
  [[nodiscard]] bool worker_left(Stage stage) const;
  [[nodiscard]] bool nobody_left() const;

  const LaunchPlan& plan_;
  std::set<std::string> ready_;  // hosts that have answered, once
  std::vector<Watched> processes_;
  const std::function<std::string()> way_back_;
  bool ending_ = false;       // we have asked for it
  bool gone_ = false;         // a process is gone: a scheduler that is started again has to hear it
  bool finished_ = false;     // a process was told that the job is done
  std::optional<Time> told_;  // that no worker is left
};

}  // namespace steelyard
