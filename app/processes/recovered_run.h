// What a scheduler that was killed has left in its run directory, and what the next one makes of it.
//
// The head of the journal has all that a scheduler is made of: the job as the members know it, where it
// began, and, in remarks of this file, what its process needs besides. A journal is read by the build that
// wrote it: another one might answer otherwise.
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

// What the process of a scheduler was about, beside the machine.
struct SchedulersPlace {
  std::string listen;      // where members find it
  std::string job;         // the job file as resolved
  std::string checkpoint;  // that it began with; empty: none
  SampleSource source;
  std::uint64_t rounds_bytes = 0, events_bytes = 0;  // of the files before its first record
  std::string key{};   // the scheduler's public one, by which the members know it; empty: plain text
  std::string boot{};  // which start of the machine it was; journal_head() fills it in
  std::string run{};   // its run directory
  // Where the record of the run lies up to the first record of this journal, when that is elsewhere.
  std::string former{};
};

// `record`: what the recorder knows of the run so far, beside the files (app/report/recorder.h).
JournalHead journal_head(const Job& job, const Progress& from, const SchedulersPlace& place,
                         std::string record = {});

// Of the journal of a scheduler elsewhere: as if it had been written here, by one that listens there.
JournalHead moved(const JournalHead& head, const std::string& listen);
std::string job_text_in(const JournalHead& head);

// Throws Failure (usage) unless `own`, the public key of this process (empty: it has none), is the one by
// which the members of the job know their scheduler. `what`: which job, for the message.
void require_key(const SchedulersPlace& place, const std::string& own, const std::string& what);
// The same of a journal elsewhere, which a standby follows.
void require_key(const JournalHead& head, const std::string& own, const std::string& what);

struct Killed {
  std::vector<std::byte> journal;
  std::size_t head_bytes = 0;
  std::size_t last_record = 0;  // where the last whole record begins
  Job job;
  Progress from;
  SchedulersPlace place;
  std::string record;  // and the time as of which it is told
  Time recorded{};
};
// Nothing: it had not begun one, so nobody knows it yet. Throws Failure (configuration) where the journal
// is of another build, (unreachable) where it was given up and is empty, (io).
std::optional<Killed> journal_of(const RunDirectory& run);
// The same to go on from: throws (unreachable) where it was written before this machine was started.
std::optional<Killed> left_by_killed(const RunDirectory& run);

// A policy's state is soft: another policy simply begins anew.
std::unique_ptr<balancing::Policy> policy_for(const Job& job, Progress& from);

// The first state without its values, which are not needed once all servers have it.
Snapshot without_values(const Killed& killed);

}  // namespace steelyard
