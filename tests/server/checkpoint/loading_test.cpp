// Initial state sent from a checkpointer to two shards, over one slow but lossless connection.
#include <gmock/gmock.h>

#include <deque>
#include <map>

#include "server/checkpoint/checkpoint.h"
#include "server/checkpoint/checkpointer.h"
#include "server/shard/shard.h"

namespace steelyard::loading_test {
namespace {

constexpr NodeId checkpointer_node{Role::checkpointer, 1};

// Parameters and momentum in 40 slices of 1 KB. Each StateChunk takes a fixed time; other messages take none.
class SlowConnection {
 public:
  explicit SlowConnection(double seconds_per_part) : each_(from_seconds(seconds_per_part)) {
    append(job_.layout, "w", {40 * 256});
    job_.layout.slice_size = 256;
    job_.shards = 2;
    job_.optimizer = {nn::Optimizer::Kind::momentum, 0.5, 0};
    Snapshot initial;
    initial.layout = job_.layout;
    initial.parameters.assign(job_.layout.size(), 3);
    initial.progress.term = 1;
    checkpointer_ = std::make_unique<Checkpointer>(checkpointer_node, initial, 1,
                                                   in_memory([](const Snapshot&) { return std::string(); }));
    for (std::uint32_t slot = 0; slot < 2; ++slot) {
      const NodeId node{Role::shard, slot + 10};
      auto& shard = shards_[node] = std::make_unique<Shard>(Shard::Options{node, {}, {}});
      roster_.shards.push_back({node, "local", slot * 20, (slot + 1) * 20, "server"});
      give(*shard, {scheduler_node, node, Message(std::in_place_type<ToShard>, Welcome{1, slot, job_})});
    }
  }

  // Twice a second the scheduler repeats the roster and all nodes wake, until both shards are loaded.
  void run() {
    for (int beats = 0; !loaded() && beats < 1'000'000; ++beats) {
      const Time until = now_ + std::chrono::milliseconds(500);
      while (!queue_.empty() && free_ <= until) {
        now_ = std::max(now_, free_);
        const Envelope next = std::move(queue_.front());
        queue_.pop_front();
        free_ = std::max(free_, now_) + each_;
        give(*shards_.at(next.to), next);
      }
      now_ = until;
      give(*checkpointer_,
           {scheduler_node, checkpointer_node, Message(std::in_place_type<ToCheckpointer>, roster_)});
      Outbox out(checkpointer_node);
      checkpointer_->wake(now_, out);
      carry(out.take());
      for (auto& [node, shard] : shards_) {
        give(*shard, {scheduler_node, node, Message(std::in_place_type<ToShard>, SchedulerBeat{1})});
        Outbox beat(node);
        shard->wake(now_, beat);
        carry(beat.take());
      }
    }
  }
  [[nodiscard]] bool loaded() const {
    return std::ranges::all_of(shards_, [](const auto& it) { return it.second->loaded(); });
  }

  std::size_t sent = 0, longest = 0;  // number of parts sent, and most parts in transit

 private:
  template <class M>
  void give(M& machine, const Envelope& envelope) {
    Outbox out(envelope.to);
    machine.step(now_, envelope, out);
    carry(out.take());
  }
  void carry(std::vector<Envelope> messages) {
    for (Envelope& it : messages) {
      if (it.to == checkpointer_node) {
        give(*checkpointer_, it);
      } else if (const auto* message = std::get_if<ToShard>(&it.message)) {
        if (!std::holds_alternative<StateChunk>(*message)) {
          give(*shards_.at(it.to), it);
          continue;
        }
        if (queue_.empty()) free_ = std::max(free_, now_ + each_);
        queue_.push_back(std::move(it));
        longest = std::max(longest, queue_.size());
        ++sent;
      }
    }
  }

  const Duration each_;
  Job job_;
  Roster roster_;
  std::unique_ptr<Checkpointer> checkpointer_;
  std::map<NodeId, std::unique_ptr<Shard>> shards_;
  std::deque<Envelope> queue_;
  Time now_{std::chrono::seconds(1)}, free_{};
};

// 80 parts, which take from 2 s to almost half an hour.
TEST(Loading, ASlowConnectionCarriesOneCopyAndAWindow) {
  for (const double seconds : {0.02, 0.2, 2.0, 20.0}) {
    SlowConnection connection(seconds);
    connection.run();
    EXPECT_TRUE(connection.loaded());
    EXPECT_LE(connection.sent, 80U + 2 * transfer_window) << seconds << " s per part";
    EXPECT_LE(connection.longest, 2 * transfer_window + 2) << seconds << " s per part";
  }
}

}  // namespace
}  // namespace steelyard::loading_test
