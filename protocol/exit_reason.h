// ExitReason: whether a shard or worker has said its last word, and why.
#pragma once

#include <optional>
#include <utility>

#include "protocol/messages.h"

namespace steelyard {

class ExitReason {
 public:
  void stopped(Stop stop) { end().stop_ = std::move(stop); }  // told to, by the scheduler or by its own host
  void refused(Refuse refusal) { end().refusal_ = std::move(refusal); }
  void out_of_reach() { end().unreachable_ = true; }  // the scheduler was silent for too long

  [[nodiscard]] bool reached() const { return reached_; }
  // The following mean something once it is reached.
  [[nodiscard]] const Stop& stop() const { return stop_; }
  [[nodiscard]] const std::optional<Refuse>& refusal() const { return refusal_; }
  [[nodiscard]] bool unreachable() const { return unreachable_; }

 private:
  ExitReason& end() {
    reached_ = true;
    return *this;
  }

  bool reached_ = false;
  bool unreachable_ = false;
  Stop stop_;
  std::optional<Refuse> refusal_;
};

}  // namespace steelyard
