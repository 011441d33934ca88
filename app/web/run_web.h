// RunWeb: serves the page of a running job (app/report/live/live_run.h), with `/metrics` for Prometheus and
// `/status` as JSON.
//
// Viewers must not slow the training down. The recorder's lines arrive through a queue that never blocks it.
// One thread of the lowest priority owns the run and makes the pages, each at most once a second and in at
// most a twentieth of the time; requests in between get the last version. Nothing is read from disk, so a
// full disk does not matter.
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

  // The earlier record, for a resumed run.
  struct Beginning {
    std::string path, job;       // directory of the run, and the text of its job.toml
    std::string rounds, events;  // lines of rounds.jsonl and events.jsonl
  };
  void begin(Beginning run);  // once

  // Adds a line of events.jsonl or rounds.jsonl. Never blocks. Call only after begin().
  void tell(bool event, const std::string& line);

  [[nodiscard]] std::string url() const;
  [[nodiscard]] bool for_others() const;  // whether other machines can reach it

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace steelyard
