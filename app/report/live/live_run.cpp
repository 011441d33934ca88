#include "app/report/live/live_run.h"

#include <algorithm>
#include <utility>

#include "app/report/page/page.h"
#include "app/report/run/run_notes.h"
#include "app/report/run/run_page.h"
#include "app/report/run/status_json.h"
#include "app/report/run/status_text.h"
#include "core/json.h"

namespace steelyard {
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

void LiveRun::ended(const std::string& result) {
  result_ = run_record("", "", result).result;
  life_.training = false;
  ++changes_;
}

void LiveRun::life(RunLife life) {
  life_ = life;
  life_.since_round = -1;
  ++changes_;
}

ReportedRun LiveRun::run(double now) const {
  RunRecord record = reader_.record();
  record.result = result_;
  ReportedRun run = reported_run(path_, job_, std::move(record));
  run.life = life_;
  if (last_round_ > 0) run.life.since_round = std::max(now - last_round_, 0.0);
  return run;
}

Json LiveRun::document(double now) const { return live_document(run(now)); }

std::string LiveRun::status(double now) const { return dump_json(status_json(run(now)), 2) + "\n"; }

RunMetrics LiveRun::metrics(double now) const {
  const ReportedRun it = run(now);
  const auto without = it.record.begun && it.life.training ? workers_without_rounds(it, status_of(it))
                                                           : decltype(workers_without_rounds(it, {})){};
  const auto idle = std::ranges::count_if(without, [](const auto& worker) {
    return worker.second.starts_with("idle") || worker.second.starts_with("is idle");
  });
  RunMetrics metrics{it.path,     it.name,          it.policy,
                     it.sync,     it.terms.barrier, counters_,
                     last_round_, state_of(it),     static_cast<std::uint64_t>(idle)};
  if (it.mirrored_shards > 0) {
    const std::uint64_t mirrored = mirrored_servers(it.record).size();
    metrics.shards_without_mirror = it.mirrored_shards - std::min(it.mirrored_shards, mirrored);
  }
  return metrics;
}

}  // namespace steelyard
