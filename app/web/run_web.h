// RunWeb: the page of a run under way (app/report/live/live_run.h), with `/metrics` for Prometheus and
// `/status` as JSON, on a port of its own.
//
// Whoever looks on must not slow the training down. What the recorder writes comes here through a queue that
// never makes it wait; one thread of the lowest priority owns the run and makes the pages, each at most once
// a second and in at most a twentieth of the time; what is asked for in between gets the page that there is.
// A disk that is full does not matter: nothing is read from it.
#pragma once

#include <memory>
#include <string>

namespace steelyard {

class RunWeb {
 public:
  // Binds; connections wait until begin(). `place`: app/web/place.h. Throws Failure (usage, configuration).
  explicit RunWeb(const std::string& place);
  ~RunWeb();
  RunWeb(const RunWeb&) = delete;
  RunWeb& operator=(const RunWeb&) = delete;

  // What was recorded before, of a run that goes on.
  struct Beginning {
    std::string path, job;       // of the run, and its job.toml
    std::string rounds, events;  // lines
  };
  void begin(Beginning run);  // once

  // A line of events.jsonl, or of rounds.jsonl. Never waits; after begin().
  void tell(bool event, const std::string& line);

  [[nodiscard]] std::string url() const;
  [[nodiscard]] bool for_others() const;  // other machines can reach it

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace steelyard
