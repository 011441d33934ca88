#include "app/processes/journal_text.h"

#include <array>
#include <cstdio>

#include "core/error.h"
#include "app/processes/killed.h"
#include "scheduler/recovery/journaled.h"
#include "protocol/message_text.h"

namespace steelyard {
namespace {

std::string text_of(const JournalRecord::What& what) {
  return std::visit(
      Overloaded{
          [](const JournalHead& it) { return "head of job '" + it.job->name + "'"; },
          [](const Heard& it) { return to_string(it.envelope.from) + ' ' + text_of(it.envelope.message); },
          [](const Woken&) { return std::string("woken"); },
          [](const Restarted&) { return std::string("restarted"); },
          [](const Followed& it) {
            return std::string(it.attempt == 0 ? "no standby follows" : "a standby follows");
          },
          [](const Skipped& it) { return "skipped: the message above, from " + to_string(it.from); },
          [](const TookOver& it) { return "a standby leads, generation " + std::to_string(it.generation); },
          [](const Superseded&) { return std::string("superseded: the standby leads"); },
          [](const Condensed& it) {
            return "what the scheduler knew, " + std::to_string(it.state.size()) + " bytes";
          },
      },
      what);
}

std::string in_seconds(Duration since) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%.9f", seconds(since));
  return text.data();
}

}  // namespace

void print_journal(const RunDirectory& run, std::uint64_t until, const Extensions& extensions,
                   std::ostream& out) {
  std::optional<Killed> left = journal_of(run);
  if (!left) {
    throw Failure(ExitCode::configuration, run.journal() + ": there is none: the run is of another release");
  }
  Scheduler scheduler(left->job, left->from, policy_for(left->job, left->from, extensions));
  JournalReader journal(left->journal);
  const Time began = journal.next().value().now;
  std::uint64_t number = 0;
  replay(journal, scheduler, [&](const JournalRecord& record, const std::vector<Envelope>& answers) {
    if (++number > until) return;
    out << '#' << number << ' ' << in_seconds(record.now - began) << ' ' << text_of(record.what) << '\n';
    for (const Envelope& it : answers)
      out << "    -> " << to_string(it.to) << ' ' << text_of(it.message) << '\n';
  });
  if (journal.read() == left->journal.size()) return;
  if (journal.damaged()) {
    out << "# what begins at byte " << journal.read() << " is not as it was written\n";
  } else {
    out << "# the last record was not written to its end\n";
  }
}

}  // namespace steelyard
