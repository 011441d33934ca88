// LoadMonitor: reports on the transfer of the model's state: from the checkpointer to the servers before
// training, and back for a checkpoint.
//
// A transfer without progress is reported after 10 s, then at doubling intervals, and fails after 10 minutes.
// Pure; part of the scheduler, which queries it with each of its heartbeats.
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

  // Notes that are due: how much is loaded, and which servers the checkpointer cannot reach.
  std::vector<std::string> loading(Time now, const Members& members);
  std::vector<std::string> unreached(Time now, const Members& members);
  // `saving`: a checkpoint was requested and not answered. If the checkpointer is silent then, its thread is
  // blocked by the storage.
  std::vector<std::string> storage(Time now, bool saving);

  // Why the transfer has failed; std::nullopt while it may still succeed.
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
  std::map<NodeId, Arrival> arrivals_;  // of shards not yet loaded
  Reminder progress_, storage_;

 public:
  void serialize(auto& fields) {
    fields(beat_, checkpointer_heard_, unreached_, arrivals_, progress_, storage_);
  }
};

}  // namespace steelyard
