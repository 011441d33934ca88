#include "app/processes/run_journal.h"

#include <filesystem>
#include <utility>

#include "core/error.h"

namespace steelyard {
namespace {

void cut_to(const std::string& path, std::uint64_t bytes) {
  if (std::filesystem::file_size(path) > bytes) std::filesystem::resize_file(path, bytes);
}

// A standby has the journal from where it last began anew, and makes its record of that.
Note record_begins_here(Round round, const std::string& former) {
  return {"the record of this run begins here with round " + std::to_string(round) +
          ", for another scheduler led before: rounds.jsonl and events.jsonl of the rounds before are in " +
          former};
}

}  // namespace

std::vector<std::byte> head_here(const RunDirectory& run, const Job& job, const Progress& from,
                                 SchedulersPlace place, const Recorder& recorder) {
  const Time now = steady_now();
  place.run = std::filesystem::absolute(run.path()).lexically_normal().string();
  place.rounds_bytes = std::filesystem::file_size(run.rounds());
  place.events_bytes = std::filesystem::file_size(run.events());
  std::vector<std::byte> head;
  append(head, {now, journal_head(job, from, place, recorder.save(now))});
  return head;
}

ToldAgain tell_again(const Killed& killed, Scheduler& scheduler, Recorder& recorder, const Acting& acting) {
  if (!killed.record.empty()) recorder.restore(killed.record, killed.recorded);
  JournalReader journal(killed.journal);
  (void)journal.next();
  bool begins_here = killed.place.events_bytes == 0 && !killed.place.former.empty();
  StandbyFeed::Follower follower = replay(
      journal, scheduler,
      [&](const JournalRecord& record, std::vector<Envelope> answers) {
        if (std::holds_alternative<Condensed>(record.what) && std::exchange(begins_here, false)) {
          recorder.handle(record_begins_here(scheduler.cursor().round(), killed.place.former), record.now);
        }
        for (const Envelope& answer : answers) {
          if (const auto* it = std::get_if<ToRecorder>(&answer.message)) recorder.handle(*it, record.now);
        }
      },
      acting);
  return {std::move(follower), journal.read()};
}

void skip_what_ends_processes(Killed& killed, const RunDirectory& run, const ReplayMark& mark) {
  const auto ended = mark.ended();
  if (!ended || ended->times < ReplayMark::enough) return;
  if (ended->begin != killed.last_record) {
    throw Failure(ExitCode::io,
                  run.journal() + ": the record at byte " + std::to_string(ended->begin) +
                      " ends each process that reads it, and what follows from it has been sent: go "
                      "on from the last checkpoint with --resume");
  }
  JournalReader last(std::span(killed.journal).subspan(ended->begin));
  const auto record = last.next();
  if (!record) return;
  const auto* heard = std::get_if<Heard>(&record->what);
  killed.journal.resize(ended->begin + last.read());  // a record behind it may have been cut short
  std::vector<std::byte> skipped;
  append(skipped, {record->now, Skipped{heard == nullptr ? NodeId{} : heard->envelope.from}});
  JournalFile file(run.journal(), killed.journal.size());
  if (file.write(skipped) != JournalFile::News::none)
    throw Failure(ExitCode::io, run.journal() + ": it cannot be written: " + file.trouble());
  killed.last_record = killed.journal.size();
  killed.journal.insert(killed.journal.end(), skipped.begin(), skipped.end());
}

void cut_record(const RunDirectory& run, const SchedulersPlace& place) {
  cut_to(run.rounds(), place.rounds_bytes);
  cut_to(run.events(), place.events_bytes);
}

}  // namespace steelyard
