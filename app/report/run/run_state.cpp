#include "app/report/run/run_state.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "app/report/run/run_notes.h"
#include "core/error.h"

namespace steelyard {
namespace {

constexpr double least_pause = 10, usual_rounds = 10;  // seconds, and times a usual round

std::string awaited(const ReportedRun& run) {
  if (!run.record.rounds.empty()) return "the first round since it was resumed has not ended";
  const std::vector<std::string> missing = missing_workers(run);
  if (!missing.empty()) return joined(missing) + (missing.size() == 1 ? " has" : " have") + " not joined";
  return run.record.events.empty()
             ? "no process has joined"
             : "the first round has not ended; last note: " + run.record.events.back().text;
}

// The last note since the last round, which usually names the cause.
std::string cause_of_pause(const RunRecord& record) {
  const double end = record.rounds.empty() ? 0 : record.rounds.back().end;
  if (record.events.empty() || record.events.back().at < end)
    return "no round has ended for much longer than usual";
  return record.events.back().text;
}

}  // namespace

const char* name(RunState state) {
  static constexpr std::array names{"waiting", "running", "paused", "finished", "interrupted", "failed"};
  return names.at(static_cast<std::size_t>(state));
}

std::string StateOfRun::text() const { return name(state) + (reason.empty() ? "" : ": " + reason); }

StateOfRun ended_state(const std::string& outcome, const std::string& text) {
  if (outcome == name(RunState::finished)) return {RunState::finished, text};
  if (outcome == name(RunState::interrupted)) return {RunState::interrupted, text};
  return {RunState::failed, outcome + (text.empty() ? "" : ": " + text)};
}

double pause_after(const RunRecord& record) {
  const auto seconds = [](double sum, const RunRound& it) { return sum + it.seconds(); };
  const double all = std::accumulate(record.rounds.begin(), record.rounds.end(), 0.0, seconds);
  const auto rounds = static_cast<double>(std::max<std::size_t>(record.rounds.size(), 1));
  return std::max(least_pause, usual_rounds * all / rounds);
}

std::vector<std::string> missing_workers(const ReportedRun& run) {
  const std::map<std::string, std::string> notes = last_notes(run.record);
  std::vector<std::string> missing;
  for (const auto& [worker, machine] : run.machines) {
    if (!notes.contains(worker)) missing.push_back(worker);
  }
  return missing;
}

StateOfRun state_of(const ReportedRun& run) {
  const RunRecord& record = run.record;
  if (!run.life.training) {
    if (run.life.continued) return {RunState::interrupted, "continued by a standby"};
    if (record.result.known) return ended_state(record.result.outcome, record.result.text);
    return {RunState::interrupted, "its processes were killed"};
  }
  if (!record.begun) return {RunState::waiting, awaited(run)};
  if (run.life.since_round > pause_after(record)) return {RunState::paused, cause_of_pause(record)};
  return {RunState::running, ""};
}

}  // namespace steelyard
