// LoadMonitor: what people should know about the model's state on its way, from the checkpointer to the
// servers before a training and back for a checkpoint.
//
// Nothing that stands still does so without a word: after 10 s it is named, and again after twice the time
// before. What has stood still for 10 minutes is given up. Pure; part of the scheduler, which says how far
// things are with every heartbeat of its own.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/members/liveness.h"
#include "scheduler/members/members.h"

namespace steelyard {

class LoadMonitor {
 public:
  static constexpr Duration first_word = std::chrono::seconds(10), given_up = std::chrono::minutes(10);

  void heard(Time now, const CheckpointerBeat& beat);  // from the checkpointer
  void answered(Time now) { checkpointer_heard_ = now; }

  // Sentences that are due: how much is loaded, and which servers the checkpointer does not reach.
  std::vector<std::string> loading(Time now, const Members& members);
  std::vector<std::string> unreached(Time now, const Members& members);
  // `saving`: a checkpoint is asked for and not answered. Only the storage can stop the checkpointer's
  // thread.
  std::vector<std::string> storage(Time now, bool saving);

  // Why it is no use to wait any longer.
  [[nodiscard]] std::optional<std::string> cannot_load(Time now, const Members& members) const;
  [[nodiscard]] std::optional<std::string> cannot_save(Time now) const;

 private:
  struct Arrival {
    std::uint64_t parts = 0;
    Time moved;
    void serialize(auto& fields) { fields(parts, moved); }
  };

  CheckpointerBeat beat_;
  std::optional<Time> checkpointer_heard_;
  std::map<NodeId, Reminder> unreached_;
  std::map<NodeId, Arrival> arrivals_;  // of shards that are not loaded
  Reminder progress_, storage_;

 public:
  void serialize(auto& fields) {
    fields(beat_, checkpointer_heard_, unreached_, arrivals_, progress_, storage_);
  }
};

}  // namespace steelyard
