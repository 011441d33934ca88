#include "app/processes/recovered_run.h"

#include <filesystem>

#include "app/config/prepare_job.h"
#include "app/processes/journal_file.h"
#include "app/report/output_file.h"
#include "app/report/terminal_text.h"
#include "app/report/terminal_writer.h"
#include "app/report/trace_file.h"
#include "core/error.h"
#include "core/json.h"

namespace steelyard {
namespace {

std::string remarks_of(const SchedulersPlace& it) {
  return dump_json(Json{{"boot", this_boot()},
                        {"listen", it.listen},
                        {"key", it.key},
                        {"job", it.job},
                        {"checkpoint", it.checkpoint},
                        {"rounds_bytes", it.rounds_bytes},
                        {"events_bytes", it.events_bytes},
                        {"run", it.run},
                        {"former", it.former},
                        {"data", it.source.data},
                        {"samples", it.source.samples},
                        {"hash", it.source.hash},
                        {"batch", it.source.batch},
                        {"mean", it.source.mean},
                        {"deviation", it.source.deviation},
                        {"height", it.source.height},
                        {"width", it.source.width},
                        {"channels", it.source.channels},
                        {"classes", it.source.classes},
                        {"class_names", it.source.class_names},
                        {"column_names", it.source.column_names},
                        {"layers", it.source.layers},
                        {"target_mean", it.source.target_mean},
                        {"target_deviation", it.source.target_deviation}});
}

SchedulersPlace place_in(const Json& it) {
  return {
      it.at("listen"),
      it.at("job"),
      it.at("checkpoint"),
      {it.at("data"), it.at("samples"), it.at("hash"), it.at("batch"),
       it.at("mean").get<std::vector<double>>(), it.at("deviation").get<std::vector<double>>(),
       it.at("height"), it.at("width"), it.at("channels"), it.at("classes"),
       it.at("class_names").get<std::vector<std::string>>(),
       it.at("column_names").get<std::vector<std::string>>(), it.at("layers").get<std::vector<std::string>>(),
       it.at("target_mean").get<std::vector<double>>(), it.at("target_deviation").get<std::vector<double>>()},
      it.at("rounds_bytes"),
      it.at("events_bytes"),
      it.at("key"),
      it.at("boot"),
      it.at("run"),
      it.at("former")};
}

[[noreturn]] void refuse_journal(ExitCode code, const std::string& path, const std::string& why) {
  throw Failure(code, path + ": " + why + ": continue from the last checkpoint with --resume");
}

// `build`: that of the writer, as in version_text(); empty if its head cannot be read.
std::string written_by(std::string build) {
  const std::string said = "another build of the scheduler wrote it";
  if (build.empty()) return said;
  std::string own = version_text();
  for (std::string* text : {&build, &own})
    while (text->ends_with('\n')) text->pop_back();
  return said + " ('" + shown_line(build) + "'; this is '" + own + "')";
}

// Where the scheduler's record of the run is, for messages.
std::string record_of(const SchedulersPlace& it) {
  const std::string here = it.run + " of the scheduler at " + it.listen;
  return it.former.empty() ? here : here + " and, before that, in " + it.former;
}

}  // namespace

JournalHead journal_head(const Job& job, const Progress& from, const SchedulersPlace& place,
                         std::string record) {
  return {version_text(), job, from, remarks_of(place), std::move(record)};
}

JournalHead moved(const JournalHead& head, const std::string& listen) {
  SchedulersPlace place = place_in(parse_json_strictly(head.remarks));
  if (place.rounds_bytes > 0) place.former = record_of(place);
  place.listen = listen;
  place.rounds_bytes = place.events_bytes = 0;
  return journal_head(*head.job, head.from, place, head.record);
}

std::string job_text_in(const JournalHead& head) { return place_in(parse_json_strictly(head.remarks)).job; }

void require_key(const SchedulersPlace& place, const std::string& own, const std::string& what) {
  if (place.key == own) return;
  const std::string mine = own.empty() ? "" : "; this process has the key '" + own + "'";
  throw Failure(ExitCode::usage, what +
                                     (place.key.empty() ? " has no keys: leave --keys out"
                                                        : " has a scheduler with the public key '" +
                                                              place.key + "': give the same --keys") +
                                     mine);
}

void require_key(const JournalHead& head, const std::string& own, const std::string& what) {
  require_key(place_in(parse_json_strictly(head.remarks)), own, what);
}

std::optional<Killed> journal_of(const RunDirectory& run) {
  const std::string path = run.journal();
  Killed killed;
  killed.journal = read_journal(path);
  if (killed.journal.empty()) {
    if (!std::filesystem::exists(path)) return std::nullopt;
    refuse_journal(ExitCode::unreachable, path,
                   "it was emptied because it could not be written (events.jsonl may say why)");
  }
  JournalReader reader(killed.journal);
  const auto first = reader.next();
  const auto* head = first ? std::get_if<JournalHead>(&first->what) : nullptr;
  if (head == nullptr || head->build != version_text())
    refuse_journal(ExitCode::configuration, path, written_by(reader.build()));
  killed.head_bytes = reader.read();
  killed.job = head->job;
  killed.from = head->from;
  killed.record = head->record;
  killed.recorded = first->now;
  try {
    killed.place = place_in(parse_json_strictly(head->remarks));
  } catch (const Json::exception& trouble) {
    refuse_journal(ExitCode::io, path, std::string("its head is damaged: ") + trouble.what());
  }
  return killed;
}

std::optional<Killed> left_by_killed(const RunDirectory& run) {
  std::optional<Killed> killed = journal_of(run);
  if (killed && killed->place.boot != this_boot())
    refuse_journal(ExitCode::unreachable, run.journal(), "it was written before this machine was started");
  if (!killed) return killed;
  JournalReader reader(killed->journal);
  for (std::size_t begin = 0; reader.next(); begin = reader.read()) killed->last_record = begin;
  if (reader.damaged()) {
    refuse_journal(ExitCode::io, run.journal(),
                   "the data at byte " + std::to_string(reader.read()) + " is damaged");
  }
  return killed;
}

std::unique_ptr<balancing::Policy> policy_for(const Job& job, Progress& from) {
  auto policy = policy_of(job);
  try {
    if (!from.policy_state.empty()) policy->restore(from.policy_state);
  } catch (const Failure&) {
    standard_error().line("steelyard: the checkpoint was written under another policy or release; '" +
                          job.policy + "' starts without saved state");
    from.policy_state.clear();
  }
  return policy;
}

Snapshot without_values(const Killed& killed) {
  return {killed.from, killed.job.seed,    fingerprint(killed.job), killed.job.layout, {}, {},
          0,           killed.place.source};
}

}  // namespace steelyard
