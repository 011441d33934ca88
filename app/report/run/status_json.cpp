#include "app/report/run/status_json.h"

#include <algorithm>

#include "app/report/run/run_state.h"
#include "app/report/run/status_text.h"

namespace steelyard {
namespace {

Json workers_json(const ReportedRun& run, const RunStatus& status) {
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
  for (const auto& [name, why] : workers_without_rounds(run, status)) {
    workers.push_back({{"name", name}, {"samples_a_round", 0}, {"without_samples", why}});
  }
  return workers;
}

}  // namespace

Json status_json(const ReportedRun& it) {
  const RunStatus status = status_of(it);
  const StateOfRun state = state_of(it);
  Json json = {{"format", 1},
               {"run", it.path},
               {"state", name(state.state)},
               {"reason", state.reason},
               {"text", status_text(it)},
               {"epoch", status.epoch},
               {"round", status.round},
               {"done", known_or_null(status.done)},
               {"seconds_left", known_or_null(status.seconds_left)},
               {"samples_per_second", status.samples_per_second()},
               {"percent_of_ideal", known_or_null(100 * status.ideal())},
               {"accuracy", known_or_null(status.accuracy)},
               {"test_loss", status.test_loss},
               {"workers", workers_json(it, status)}};
  add_error(json, status.error);
  return json;
}

}  // namespace steelyard
