#include <cmath>

#include "app/report/compare/record.h"
#include "app/report/page/page.h"
#include "app/report/run/run_page.h"
#include "core/check.h"
#include "tests/fuzz/accepts.h"
#include "tests/fuzz/entry.h"

namespace steelyard::fuzz {
namespace {

struct Files {
  std::string_view job, rounds, events;
  std::string result;
};

Files files_of(std::span<const std::byte> bytes) {
  std::string_view text = text_of(bytes);
  Files files;
  files.job = taken_until(text, '\0');
  files.rounds = taken_until(text, '\0');
  files.events = taken_until(text, '\0');
  files.result = text;
  return files;
}

void check_record(const RunRecord& record) {
  double before = 0;
  for (const RunRound& round : record.rounds) {
    CHECK(round.begin >= 0 && round.begin <= round.end, "a round ends before it begins");
    CHECK(round.end >= before, "rounds are out of order");
    before = round.end;
    for (const RunPart& part : round.parts)
      CHECK(part.worker < record.workers.size(), "a share has no worker");
  }
  for (std::size_t i = 1; i < record.events.size(); ++i)
    CHECK(record.events[i - 1].at <= record.events[i].at, "events out of order");
}

}  // namespace

bool read_run(std::span<const std::byte> bytes) {
  const Files files = files_of(bytes);
  const RunRecord record = run_record(files.rounds, files.events, files.result);
  check_record(record);

  RunReader lines;  // line by line, as while the run grows
  for (std::string_view left = files.rounds; !left.empty();) lines.round_lines(taken_until(left, '\n'));
  for (std::string_view left = files.events; !left.empty();) lines.event_lines(taken_until(left, '\n'));
  CHECK(lines.record().rounds.size() == record.rounds.size(), "reading line by line gives other rounds");
  CHECK(lines.record().events.size() == record.events.size(), "reading line by line gives other events");
  lines.forget(4);
  check_record(lines.record());

  const ReportedRun run = reported_run("runs/fuzz-1", std::string(files.job), record);
  CHECK(page(run_document({run, run})).ends_with("</html>\n"), "an incomplete page");
  CHECK(!live_part(live_document(run)).empty(), "an empty page");
  return !record.rounds.empty() && record.unreadable == 0;
}

bool read_trial(std::span<const std::byte> bytes) {
  const Files files = files_of(bytes);
  const Trial trial = trial_of(files.rounds, files.result, "bsp");
  Comparison comparison;
  comparison.entries.emplace_back().trials.push_back(trial);
  const std::string fastest = fastest_worker(comparison);
  CHECK(fastest.empty() || !trial.workers.empty(), "the fastest worker does not exist");
  return trial.failure.empty();
}

std::vector<std::vector<std::byte>> run_inputs() {
  const std::string job =
      "[train]\nbatch = 96\nepochs = 2\n[[worker]]\nname = \"ada\"\n[[worker]]\nname = \"bob\"\n";
  const std::string events =
      "{\"began\":\"2026-01-02T03:04:05Z\",\"version\":\"0.1.0\",\"machine\":\"vm, 2 cores\"}\n"
      "{\"at_ms\":0.0,\"text\":\"worker 'ada' joined\"}\n{\"at_ms\":0,\"first_round\":0}\n"
      "{\"at_ms\":61.5,\"text\":\"worker 'bob' was lost\"}\n";
  const std::string result =
      "{\"format\":1,\"outcome\":\"finished\",\"text\":\"\",\"exit_code\":0,\"accuracy\":0.9,\"seconds\":0.3,"
      "\"samples_per_second\":1084.5,\"percent_of_ideal\":39.2,\"efficiency\":0.09,\"checkpoint\":\"c/120\"}";
  std::string rounds;
  for (int i = 0; i < 24; ++i) {
    const int slow = i < 12 ? 20 : 6;
    rounds += "{\"round\":" + std::to_string(i) + ",\"epoch\":" + std::to_string(i / 12) +
              ",\"purpose\":\"train\",\"begin\":0,\"end\":96,\"workers\":[\"ada\",\"bob\"],\"shares\":[" +
              std::to_string(48 + i) + "," + std::to_string(48 - i) + "],\"compute_ms\":[5.25," +
              std::to_string(slow) + "],\"round_ms\":25,\"at_ms\":" + std::to_string(25 * (i + 1)) +
              ",\"percent_of_ideal\":88.5,\"loss\":0.7,\"accuracy\":0.5}\n";
  }
  const std::string evaluated =
      "{\"round\":24,\"purpose\":\"evaluate\",\"workers\":[\"ada\"],\"shares\":[10],\"compute_ms\":[1],"
      "\"round_ms\":9,\"at_ms\":640,\"accuracy\":0.75}\n";
  const std::string end(1, '\0');
  return {input_of(job + end + rounds + evaluated + end + events + end + result),
          input_of(end + rounds + rounds + end + events + events + end + result)};
}

}  // namespace steelyard::fuzz
