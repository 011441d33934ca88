#include "app/processes/leadership.h"

#include "app/processes/processes.h"
#include "core/error.h"
#include "scheduler/recovery/reclaim.h"
#include "transport/host.h"
#include "transport/zmq.h"

namespace steelyard {

ToldAgain replay_killed(Killed& killed, const RunDirectory& run, Scheduler& scheduler, Recorder& recorder) {
  ReplayMark mark(run.journal() + ".replay");
  skip_what_ends_processes(killed, run, mark);
  ToldAgain told = tell_again(killed, scheduler, recorder, [&](std::size_t begin) { mark.acting(begin); });
  mark.done();
  return told;
}

void require_leadership(const ToldAgain& told, const RunDirectory& run, const Scheduler& scheduler,
                        ZmqContext& context) {
  const std::string lost = run.path() + ": the standby of this job leads it";
  const char* remedy = ": this process never leads it again; look at the job on the standby's machine";
  if (told.follower.superseded) throw Failure(ExitCode::configuration, lost + remedy);
  // Of a job that has ended nothing is left to lead: the servers may be gone, and the end is recorded.
  if (told.follower.attempt == 0 || scheduler.phase() >= Phase::stopping) return;
  const NodeId self = new_node(Role::standby);
  ZmqLink link(context, self);
  Reclaim reclaim(scheduler.term(), told.follower, scheduler.members(), std::chrono::seconds(60));
  host(reclaim, self, link);
  if (reclaim.answer() == Reclaim::Answer::granted) return;
  if (reclaim.answer() == Reclaim::Answer::none) {
    throw Failure(ExitCode::unreachable,
                  run.path() +
                      ": the scheduler was killed while a standby followed it, and the servers that know "
                      "which of the two leads do not answer: if the job does not go on at the standby, go "
                      "on from the last checkpoint with --resume");
  }
  std::vector<std::byte> superseded;
  append(superseded, {steady_now(), Superseded{}});
  (void)JournalFile(run.journal(), told.bytes).write(superseded);
  throw Failure(ExitCode::configuration, lost + remedy);
}

}  // namespace steelyard
