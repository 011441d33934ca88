// RunWeb: the page of a running job (app/report/live/live_run.h) on a port of its own, with `/metrics` for
// Prometheus and `/status` as JSON.
//
// Readers must not slow the training down. The recorder's lines arrive through a queue that never blocks it;
// one thread of the lowest priority owns the run and makes the pages, each at most once a second and in at
// most 5 % of the time. Requests in between get the existing page. No file is read, so a full disk has no
// effect.
#pragma once

#include <memory>
#include <string>

namespace steelyard {

class RunWeb {
 public:
  // Binds; connections are queued until begin(). `place`: app/web/place.h. Throws Failure (usage,
  // configuration).
  explicit RunWeb(const std::string& place);
  ~RunWeb();
  RunWeb(const RunWeb&) = delete;
  RunWeb& operator=(const RunWeb&) = delete;

  // The existing record, if the run is a resumption.
  struct Beginning {
    std::string path, job;       // of the run; its job.toml
    std::string rounds, events;  // lines
  };
  void begin(Beginning run);  // once

  // A line of events.jsonl, or of rounds.jsonl. Never blocks; after begin().
  void tell(bool event, const std::string& line);

  // Serves the last state, with `result` (result.json), until a browser has fetched it, for 5 seconds at
  // most. Returns at once if no page was requested in the last 10 seconds. After begin().
  void finish(const std::string& result);

  [[nodiscard]] std::string url() const;
  [[nodiscard]] bool for_others() const;  // whether other machines can reach it

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace steelyard
