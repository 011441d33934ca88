#include "roles/run_journal.h"

#include <filesystem>
#include <utility>

namespace steelyard {
namespace {

void cut_to(const std::string& path, std::uint64_t bytes) {
  if (std::filesystem::file_size(path) > bytes) std::filesystem::resize_file(path, bytes);
}

}  // namespace

std::vector<std::byte> head_here(const RunDirectory& run, const Job& job, const Progress& from,
                                 SchedulersPlace place, const Recorder& recorder) {
  const Time now = steady_now();
  place.rounds_bytes = std::filesystem::file_size(run.rounds());
  place.events_bytes = std::filesystem::file_size(run.events());
  std::vector<std::byte> head;
  append(head, {now, journal_head(job, from, place, recorder.save(now))});
  return head;
}

ToldAgain tell_again(const Killed& killed, Scheduler& scheduler, Recorder& recorder) {
  if (!killed.record.empty()) recorder.restore(killed.record, killed.recorded);
  JournalReader journal(killed.journal);
  (void)journal.next();
  StandbyFeed::Follower follower =
      replay(journal, scheduler, [&](const JournalRecord& record, std::vector<Envelope> answers) {
        for (const Envelope& answer : answers) {
          if (const auto* it = std::get_if<ToRecorder>(&answer.message)) recorder.handle(*it, record.now);
        }
      });
  return {std::move(follower), journal.read()};
}

void cut_record(const RunDirectory& run, const SchedulersPlace& place) {
  cut_to(run.rounds(), place.rounds_bytes);
  cut_to(run.events(), place.events_bytes);
}

}  // namespace steelyard
