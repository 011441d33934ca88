// Recovery of a run from the run directory of a killed scheduler.
//
// The head of the journal has everything to reconstruct the scheduler: the job as the members know it, the
// progress it started from and, as remarks, further data of its process. Only the build that wrote a journal
// can read it, because another one might answer differently.
#pragma once

#include <steelyard/policy.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/report/run_directory.h"
#include "protocol/journal.h"
#include "server/checkpoint/checkpoint.h"

namespace steelyard {

// The data of a scheduler's process that its state machine does not have.
struct SchedulersPlace {
  std::string listen;      // its endpoint
  std::string job;         // the resolved job file
  std::string checkpoint;  // that it started from; empty: none
  SampleSource source;
  std::uint64_t rounds_bytes = 0, events_bytes = 0;  // of the files before its first record
  std::string key{};   // the public key by which members know it; empty: plain text
  std::string boot{};  // boot id of the machine; journal_head() fills it in
  std::string run{};   // its run directory
  // Where the earlier record of the run is, if another scheduler led before this journal.
  std::string former{};
  std::uint64_t rounds_part = 0;  // of rounds.jsonl before its first record (core/record_parts.h)
};

// `record`: the saved state of the recorder (app/report/recorder.h).
JournalHead journal_head(const Job& job, const Progress& from, const SchedulersPlace& place,
                         std::string record = {});

// Converts the head of another machine's journal: as if a scheduler here, at this endpoint, had written it.
JournalHead moved(const JournalHead& head, const std::string& listen);
std::string job_text_in(const JournalHead& head);
// The run directory of the scheduler that wrote it; empty if that runs on another machine.
std::string run_here_in(const JournalHead& head);

// Throws Failure (usage) unless `own`, the public key of this process (empty: none), is the scheduler's key
// that the members of the job know. `what`: names the job in the message.
void require_key(const SchedulersPlace& place, const std::string& own, const std::string& what);
// The same for the journal of another machine, which a standby follows.
void require_key(const JournalHead& head, const std::string& own, const std::string& what);

struct Killed {
  std::vector<std::byte> journal;
  std::size_t head_bytes = 0;
  std::size_t last_record = 0;  // where the last whole record begins
  Job job;
  Progress from;
  SchedulersPlace place;
  std::string record;  // the saved recorder,
  Time recorded{};     // and when it was saved
};
// Returns std::nullopt if no journal exists: the scheduler was killed before it had accepted any member.
// Throws Failure: (configuration) another build wrote the journal; (unreachable) it was given up and is
// empty; (io).
std::optional<Killed> journal_of(const RunDirectory& run);
// The same, for continuing: also throws (unreachable) if it was written before this machine was started.
std::optional<Killed> left_by_killed(const RunDirectory& run);

// The job's policy with the saved state in `from`. State of another policy is dropped, with a warning.
std::unique_ptr<balancing::Policy> policy_for(const Job& job, Progress& from);

// The initial state without its values, which are not needed once all servers have loaded them.
Snapshot without_values(const Killed& killed);

}  // namespace steelyard
