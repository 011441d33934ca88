// Made-up runs, in the files that a recorder would write.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/report/run/run_record.h"

namespace steelyard {

// In each round, worker i computes `shares[i]` samples in `ms[i]`; the round takes 5 ms longer than its
// slowest worker.
struct MadeRun {
  std::string rounds, events;
  double at = 0;  // ms
  std::uint64_t next = 0;

  MadeRun& round(const std::vector<std::string>& names, const std::vector<std::uint64_t>& shares,
                 const std::vector<double>& ms, double percent = 80) {
    double slowest = 0;
    std::uint64_t samples = 0;
    for (const double it : ms) slowest = std::max(slowest, it);
    for (const std::uint64_t it : shares) samples += it;
    at += slowest + 5;
    line({{"round", next},
          {"epoch", 0},
          {"purpose", "train"},
          {"begin", 0},
          {"end", samples},
          {"workers", names},
          {"shares", shares},
          {"compute_ms", ms},
          {"round_ms", slowest + 5},
          {"at_ms", at},
          {"percent_of_ideal", percent},
          {"loss", 2.0 / (1.0 + static_cast<double>(next))},
          {"accuracy", 0.5}});
    ++next;
    return *this;
  }
  MadeRun& evaluation(double accuracy) {
    at += 10;
    line({{"round", next},
          {"purpose", "evaluate"},
          {"workers", nlohmann::json::array()},
          {"shares", nlohmann::json::array()},
          {"compute_ms", nlohmann::json::array()},
          {"round_ms", 10},
          {"at_ms", at},
          {"loss", 1.0},
          {"accuracy", accuracy}});
    return *this;
  }
  MadeRun& process(std::uint64_t first_round) {  // a resumption: its clock starts at 0
    at = 0;
    next = first_round;
    event({{"began", "2026-05-04T07:08:09Z"}, {"version", "1.2.3"}, {"machine", "box, a CPU, 4 cores"}});
    return event({{"at_ms", 0}, {"first_round", first_round}});
  }
  MadeRun& event(const nlohmann::json& it) {
    events += it.dump() + "\n";
    return *this;
  }
  MadeRun& note(const std::string& text) { return event({{"at_ms", at}, {"text", text}}); }
  void line(const nlohmann::json& it) { rounds += it.dump() + "\n"; }

  [[nodiscard]] RunRecord record(const std::string& result = "") const {
    return run_record(rounds, events, result);
  }
};

// 40 rounds with equal shares for three workers, whose speeds are 1:4:2, then 40 with shares in proportion to
// their speeds.
inline MadeRun made_run() {
  MadeRun run;
  run.process(0);
  for (int i = 0; i < 40; ++i) run.round({"eighth", "half", "quarter"}, {100, 100, 100}, {80, 20, 40}, 52);
  for (int i = 0; i < 40; ++i) {
    run.round({"eighth", "half", "quarter"}, {43, 171, 86}, {34.4, 34.2, 34.4}, 99);
    if (i == 5) run.note("worker 'quarter' continues");
  }
  run.evaluation(0.75);
  return run;
}

inline ReportedRun reported(const MadeRun& run) {
  ReportedRun it;
  it.path = "runs/made-1";
  it.name = "made";
  it.about = "a model on some data";
  it.policy = "equal";
  it.sync = "bsp";
  it.job = "[job]\nname = \"made\"\n";
  it.record = run.record(R"({"outcome": "finished", "accuracy": 0.75, "percent_of_ideal": 60})");
  return it;
}

}  // namespace steelyard
