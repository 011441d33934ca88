// No number in any message crashes the scheduler, under any policy and sync mode; and a scheduler replayed
// from the journal sends the same messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "balancing/policies.h"
#include "protocol/codec.h"
#include "protocol/message_text.h"
#include "scheduler/recovery/journaled.h"
#include "scheduler/rounds/invariants.h"
#include "tests/support/numbers_in.h"
#include "tests/support/sync_modes.h"
#include "tests/support/toy_job.h"

namespace steelyard::numbers_test {
namespace {

using ::testing::IsEmpty;

constexpr std::uint32_t workers = 3, shards = 2;

// Messages pass through the codec, as between machines, or directly, as within one process without a journal.
enum class Door { codec, none };

// A scheduler and its members. The members' messages are right, except for some random numbers.
class Members {
 public:
  Members(const std::string& mode, const std::string& policy, std::uint64_t seed, Door door = Door::codec)
      : random_(seed), door_(door), job_(job(mode, policy, seed)), scheduler_(make()) {
    write(JournalHead{"test", job_, {}, {}});
  }

  void run(int steps) {
    for (int i = 0; i < steps && !scheduler_->finished(); ++i) {
      now_ = now_ + milliseconds(static_cast<long>(random_.below(200)));
      const bool woken = random_.below(6) == 0;
      Envelope in = next_message();
      auto& message = std::get<ToScheduler>(in.message);
      if (i > 100 && random_.below(4) == 0) {
        test::spoil_a_number(message, random_);
        if (door_ == Door::codec && !passes(in)) continue;
      }
      Outbox out(scheduler_node);
      if (woken) {
        journaled_.wake(now_, out);
      } else {
        journaled_.step(now_, in, out);
      }
      for (const Envelope& it : out.take()) take(it);
      ASSERT_THAT(invariants_.check(*scheduler_), IsEmpty()) << "step " << i;
    }
  }

  // The messages of a scheduler replayed from the journal alone.
  [[nodiscard]] std::string replayed() const {
    JournalReader journal(journal_);
    (void)journal.next();
    const auto scheduler = make();
    std::string sent;
    replay(journal, *scheduler, [&](const JournalRecord&, const std::vector<Envelope>& answers) {
      for (const Envelope& it : answers) sent += text(it);
    });
    if (journal.read() != journal_.size()) sent += "the journal cannot be read to its end";
    return sent;
  }
  [[nodiscard]] const std::string& sent() const { return sent_; }
  [[nodiscard]] std::uint64_t rounds() const { return scheduler_->cursor().round(); }

 private:
  static Job job(const std::string& mode, const std::string& policy, std::uint64_t seed) {
    Job job = test::toy_job(96, 48, 3, workers, shards);
    job.sync = parse_sync(mode);
    job.policy = job.sync.paced ? "orchestra" : policy;
    job.clip_norm = seed % 2 == 0 ? 1 : 0;
    job.heartbeat_timeout = 1e6;
    return job;
  }
  [[nodiscard]] std::unique_ptr<Scheduler> make() const {
    return std::make_unique<Scheduler>(job_, Progress{}, balancing::make_policy(job_.policy));
  }
  // Encodes and decodes a message. Returns false if it cannot be decoded.
  static bool passes(Envelope& in) {
    const Frames frames = encode(in.message);
    auto decoded = decode(Role::scheduler, frames.header, frames.payload.value_or(Blob()));
    auto* message = std::get_if<Message>(&decoded);
    if (message != nullptr) in.message = std::move(*message);
    return message != nullptr;
  }
  void write(JournalRecord::What what) { append(journal_, {now_, std::move(what)}); }
  static std::string text(const Envelope& it) {
    return std::to_string(it.to.number) + ' ' + text_of(it.message) + '\n';
  }
  void take(const Envelope& sent) {
    sent_ += text(sent);
    if (const auto* to_worker = std::get_if<ToWorker>(&sent.message)) {
      if (const auto* start = std::get_if<Start>(to_worker)) owed_.push_back({sent.to, start->piece});
    }
  }
  template <class Body>
  Envelope make(NodeId from, Body sent) {
    return {from, scheduler_node, Message(std::in_place_type<ToScheduler>, std::move(sent))};
  }
  Envelope report() {
    const std::size_t which = random_.below(owed_.size());
    const auto [worker, piece] = owed_[which];
    owed_.erase(owed_.begin() + static_cast<std::ptrdiff_t>(which));
    Report report{1, piece, 0.01 * static_cast<double>(1 + worker.number)};
    report.loss = 1;
    report.cpu = 0.5;
    report.memory = 1000;
    report.now = {0.4, 950};
    return make(worker, report);
  }
  Envelope next_message() {
    const NodeId worker{Role::worker, 1 + random_.below(workers)},
        shard{Role::shard, 1 + random_.below(shards)};
    const Round round = scheduler_->cursor().round();
    if (!owed_.empty() && random_.below(2) == 0) return report();
    switch (random_.below(9)) {
      case 0:
        return make(worker, Hello{0, "w" + std::to_string(worker.number), ""});
      case 1:
        return make(shard, Hello{0, "s" + std::to_string(shard.number), "tcp://x"});
      case 2:
        return make(worker, Ready{});
      case 3:
        return make(shard, ShardBeat{1, round, round + 1, true, {{0, 4}}, false});
      case 4:
        return make(shard, Closed{1, round, {}});
      case 5:
        return make(shard, Covered{1, round, 0, {1.0, 2.0}});
      case 6:
        return make(worker, WorkerBeat{.term = 1,
                                       .held = {1, 2, 3},
                                       .now = {0.25 * static_cast<double>(worker.number), 900}});
      case 7:
        return owed_.empty() ? make(worker, Ready{})
                             : make(worker, PieceProgress{1, owed_.front().second.id, 1, 1});
      default:
        return make(NodeId{Role::checkpointer, 1}, Saved{round, true, "p"});
    }
  }

  Random random_;
  const Door door_;
  const Job job_;
  Time now_{std::chrono::seconds(1)};
  std::unique_ptr<Scheduler> scheduler_;
  std::vector<std::byte> journal_;
  Journaled journaled_{*scheduler_, [this](const std::vector<std::byte>& record) {
                         journal_.insert(journal_.end(), record.begin(), record.end());
                         return true;
                       }};
  Invariants invariants_;
  std::string sent_;
  std::vector<std::pair<NodeId, Piece>> owed_;
};

TEST(Numbers, NoNumberCrashesTheSchedulerUnderAnyPolicy) {
  for (const std::string& policy : balancing::policy_names()) {
    std::uint64_t rounds = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      SCOPED_TRACE(policy + ", seed " + std::to_string(seed));
      Members members("bsp", policy, seed);
      members.run(1500);
      ASSERT_EQ(members.sent(), members.replayed());
      rounds += members.rounds();
    }
    EXPECT_GT(rounds, 60U) << policy << ": too few messages were right to train";
  }
}

TEST(Numbers, NoNumberCrashesTheSchedulerWithoutACodec) {
  for (const std::string& policy : balancing::policy_names()) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      SCOPED_TRACE(policy + ", seed " + std::to_string(seed));
      Members members("bsp", policy, seed, Door::none);
      members.run(1500);
    }
  }
}

TEST(Numbers, NoNumberCrashesTheSchedulerInAnyMode) {
  for (const char* mode : test::sync_modes()) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      SCOPED_TRACE(std::string(mode) + ", seed " + std::to_string(seed));
      Members members(mode, "steelyard", seed);
      members.run(1000);
      ASSERT_EQ(members.sent(), members.replayed());
    }
  }
}

}  // namespace
}  // namespace steelyard::numbers_test
