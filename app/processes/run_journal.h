// The lock of a run directory, and recovery of a scheduler and of the record of its run from the journal.
//
// The record of a run is its output for users (app/report/recorder.h). A scheduler that continues the job of
// another one rebuilds from the journal the part of the record after the file sizes in the journal's head.
#pragma once

#include <string>

#include "app/processes/journal_file.h"
#include "app/processes/recovered_run.h"
#include "app/report/recorder.h"
#include "scheduler/recovery/journaled.h"
#include "transport/zmq_context.h"

namespace steelyard {

// RunLock: allows one run at a time in a run directory, so that a second --resume does not train beside the
// first.
//
// It is a flock() on DIRECTORY/lock: the kernel releases it when the last process that has the file open
// exits, for any reason. `train` takes it before it changes anything, and its scheduler inherits the open
// file, so the lock is held until both have exited. A scheduler that was started directly, or by `launch`,
// takes it itself. The file stays and contains the id of the last holder. On file systems without locks, it
// has no effect.
class RunLock {
 public:
  // `inherited`, if not negative: the descriptor of the lock file that the parent passed on. Throws Failure
  // (io) that names the directory and the process with the lock, (usage) if the descriptor is not open.
  explicit RunLock(const std::string& directory, int inherited = -1);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

  [[nodiscard]] int descriptor() const { return file_; }  // close-on-exec

 private:
  int file_;
};

// Whether a process of this machine has the lock of a run directory; does not take it. False if that is
// unknown.
bool in_use(const std::string& directory);

// The head of a new or condensed journal: contains the sizes of the record's files and the state of the
// recorder. Flush the recorder before.
std::vector<std::byte> head_here(const RunDirectory& run, const Job& job, const Progress& from,
                                 SchedulersPlace place, const Recorder& recorder);

// Replays the journal of a killed scheduler into `scheduler`, and its messages to the recorder into
// `recorder`.
struct ToldAgain {
  StandbyFeed::Follower follower;  // the standby that counted (protocol/journal.h: Followed)
  std::uint64_t bytes = 0;         // of whole records
};
// `acting` as of replay().
ToldAgain tell_again(const Killed& killed, Scheduler& scheduler, Recorder& recorder,
                     const Acting& acting = {});

// If the last record of the journal crashed two processes, appends a Skipped record, to `killed` and to the
// file. No answer to that record had been sent, so skipping it is like losing the message. An earlier record
// cannot be skipped: throws Failure (io).
void skip_what_ends_processes(Killed& killed, const RunDirectory& run, const ReplayMark& mark);

// Truncates the record's files to the sizes in the journal's head; replay writes the rest again.
void cut_record(const RunDirectory& run, const SchedulersPlace& place);

// Recovery in the place of a killed scheduler, before the process listens.

// Replays the journal. Skips a record that crashed two processes in a row. Throws Failure as
// skip_what_ends_processes().
ToldAgain replay_killed(Killed& killed, const RunDirectory& run, Scheduler& scheduler, Recorder& recorder);

// If a standby counted when the scheduler was killed, it may lead by now. A member that connects to this
// process could lose the leader, so this asks the servers before the process listens.
// Throws Failure: (configuration) the standby leads, which is recorded in the journal; (unreachable) the
// servers that decide do not answer.
void require_leadership(const ToldAgain& told, const RunDirectory& run, const Scheduler& scheduler,
                        ZmqContext& context);

// Notes for readers that a standby leads the job of this run. A run directory that cannot be written has no
// note.
void note_superseded(const RunDirectory& run);

}  // namespace steelyard
