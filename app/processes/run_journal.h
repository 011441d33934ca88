// The journal of a run and the record that is made of it: how far the one is in the other.
//
// The record of a run is what people see (app/report/recorder.h). A scheduler that goes on in the place of
// another makes it anew from the journal, behind what the head says is in the files.
#pragma once

#include <string>

#include "app/processes/journal_file.h"
#include "app/processes/recovered_run.h"
#include "app/report/recorder.h"
#include "scheduler/recovery/journaled.h"
#include "transport/zmq_context.h"

namespace steelyard {

// RunLock: one run at a time in a run directory, so that a second --resume does not train beside the first.
//
// The lock is one on DIRECTORY/lock, and the kernel's: it ends when the last process that has the file open
// is gone, whatever ended it. `train` takes it before it changes anything, and its scheduler inherits the
// open file: so whichever of the two ends last holds it, and there is no moment without it. A scheduler that
// was started by hand, or by `launch`, takes it itself. The file stays; in it is who had it last. Where a
// file system knows no locks, nobody is kept out.
class RunLock {
 public:
  // `inherited`, if not negative, is the number under which the parent had the file open and handed it on.
  // Throws Failure (io) that names the directory and the process that has it, (usage) if nothing was handed
  // on.
  explicit RunLock(const std::string& directory, int inherited = -1);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

  [[nodiscard]] int descriptor() const { return file_; }  // closed by exec, unless somebody changes that

 private:
  int file_;
};

// Whether a process of this machine has the lock of a run directory; asks without taking it, so that it keeps
// nobody out. False where the system does not tell.
bool in_use(const std::string& directory);

// Of a journal that begins, or begins anew: it says how long the files are, and what the recorder knows
// beside them. Flush it before.
std::vector<std::byte> head_here(const RunDirectory& run, const Job& job, const Progress& from,
                                 SchedulersPlace place, const Recorder& recorder);

// Says to a scheduler what the killed one had heard, and to the recorder what that had said of it.
struct ToldAgain {
  StandbyFeed::Follower follower;  // that it had
  std::uint64_t bytes = 0;         // of the journal, that are whole
};
// `acting` as of replay().
ToldAgain tell_again(const Killed& killed, Scheduler& scheduler, Recorder& recorder,
                     const Acting& acting = {});

// Where the last record of the journal ended two processes that acted on it, it is skipped: that is written
// behind it, in `killed` and in the file. Nothing that followed from it had been sent, so skipping it is like
// losing the message. An earlier record cannot be skipped: throws Failure (io).
void skip_what_ends_processes(Killed& killed, const RunDirectory& run, const ReplayMark& mark);

// What was recorded behind the head goes from the files: it is told again.
void cut_record(const RunDirectory& run, const SchedulersPlace& place);

// What a scheduler does that takes the place of a killed one, before it listens: it makes the scheduler anew,
// and makes sure that it leads.

// A record that ended two processes in a row is skipped by the third. Throws Failure as
// skip_what_ends_processes().
ToldAgain replay_killed(Killed& killed, const RunDirectory& run, Scheduler& scheduler, Recorder& recorder);

// Where a standby counted when the scheduler was killed, it may lead by now. Members that connect to a
// process which does not lead would lose the one that does, so the servers are asked before it listens.
// Throws Failure: (configuration) the standby leads, which is written down for good; (unreachable) the
// servers that know do not answer.
void require_leadership(const ToldAgain& told, const RunDirectory& run, const Scheduler& scheduler,
                        ZmqContext& context);

}  // namespace steelyard
