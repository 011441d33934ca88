#include "app/report/live/live_run.h"

#include <algorithm>
#include <utility>

#include "app/report/page/page.h"
#include "app/report/run/run_page.h"
#include "app/report/run/status_text.h"
#include "core/json.h"

namespace steelyard {
namespace {

constexpr const char* state = "running";  // nobody can look at another

Json known(double value) { return value < 0 ? Json() : Json(value); }

Json workers_json(const RunStatus& status) {
  Json workers = Json::array();
  for (std::size_t i = 0; i < status.finding.workers.size(); ++i) {
    const WorkerFinding& it = status.finding.workers[i];
    if (it.rounds == 0) continue;
    workers.push_back(
        {{"name", status.record.workers[i]},
         {"samples_a_round", it.samples / static_cast<double>(it.rounds)},
         {"samples_per_second", it.speed()},
         {"waiting",
          status.finding.barrier ? Json(it.waiting / std::max(status.finding.seconds, 1e-9)) : Json()}});
  }
  return workers;
}

}  // namespace

LiveRun::LiveRun(std::string path, std::string job, std::size_t most_parts)
    : path_(std::move(path)), job_(std::move(job)), most_parts_(most_parts) {}

void LiveRun::round_lines(std::string_view text, double now) {
  const std::size_t before = reader_.so_far().rounds.size();
  reader_.round_lines(text);
  const RunRecord& record = reader_.so_far();
  for (std::size_t i = before; i < record.rounds.size(); ++i) {
    counters_.add(record.rounds[i], record.workers);
    if (record.rounds[i].train) last_round_ = now;
  }
  reader_.forget(most_parts_);
  ++changes_;
}

void LiveRun::event_lines(std::string_view text) {
  reader_.event_lines(text);
  ++changes_;
}

ReportedRun LiveRun::run() const { return reported_run(path_, job_, reader_.record()); }

std::string LiveRun::page() const {
  const ReportedRun it = run();
  return live_page("steelyard: " + it.name, run_part(it));
}

std::string LiveRun::part() const { return run_part(run()); }

std::string LiveRun::status() const {
  const ReportedRun it = run();
  const RunStatus status = status_of(it);
  const Json json = {{"format", 1},
                     {"run", it.path},
                     {"state", state},
                     {"text", status_text(it, state)},
                     {"epoch", status.epoch},
                     {"round", status.round},
                     {"done", known(status.done)},
                     {"seconds_left", known(status.seconds_left)},
                     {"samples_per_second", status.samples_per_second()},
                     {"percent_of_ideal", known(100 * status.ideal())},
                     {"accuracy", known(status.accuracy)},
                     {"workers", workers_json(status)}};
  return dump_json(json, 2) + "\n";
}

std::string LiveRun::metrics() const {
  const ReportedRun it = reported_run(path_, job_, {});
  return metrics_text(counters_, {it.name, it.policy, it.sync, it.terms.barrier}, last_round_);
}

}  // namespace steelyard
