// The journal of a run and the record that is made of it: how far the one is in the other.
//
// The record of a run is what people see (app/report/recorder.h). A scheduler that goes on in the place of
// another makes it anew from the journal, behind what the head says is in the files.
#pragma once

#include "app/report/recorder.h"
#include "app/processes/journal_file.h"
#include "app/processes/killed.h"
#include "app/processes/replay_mark.h"
#include "scheduler/recovery/journaled.h"

namespace steelyard {

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

}  // namespace steelyard
