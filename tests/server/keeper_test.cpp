// The keeper: hands out the state to begin with, gathers one cut through the model, tells how storing went.
#include "server/keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "core/error.h"

namespace steelyard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr NodeId self{Role::keeper, 1}, left{Role::shard, 10}, right{Role::shard, 11};

// Ten floats in three slices (4, 4, 2); `left` has the first, `right` the others.
class KeeperTest : public ::testing::Test {
 protected:
  static Snapshot initial() {
    Snapshot snapshot;
    append(snapshot.layout, "w", {10});
    snapshot.layout.slice_size = 4;
    snapshot.parameters.resize(10);
    std::iota(snapshot.parameters.begin(), snapshot.parameters.end(), 1.0F);
    snapshot.progress.term = 2;
    snapshot.progress.version = 7;
    snapshot.seed = 99;
    snapshot.steps = 6;
    snapshot.source = {"synthetic", 100, "99aa06d3014798d86001c324468d497f", 10};
    return snapshot;
  }
  std::string store(const Snapshot& snapshot) {
    if (!trouble.empty()) throw Failure(ExitCode::io, trouble);
    stored.push_back(snapshot);
    return "checkpoints/" + std::to_string(snapshot.progress.version);
  }
  template <class Said>
  std::vector<Envelope>& tell(NodeId from, Said message) {
    Outbox out(self);
    keeper.step(now, {from, self, Message(std::in_place_type<ToKeeper>, std::move(message))}, out);
    return said = out.take();
  }
  std::vector<Envelope>& wake(double later) {
    now = now + from_seconds(later);
    Outbox out(self);
    keeper.wake(now, out);
    return said = out.take();
  }
  template <class Receiver, class Said>
  std::vector<std::pair<NodeId, Said>> heard() const {
    std::vector<std::pair<NodeId, Said>> found;
    for (const Envelope& envelope : said) {
      const auto* receiver = std::get_if<Receiver>(&envelope.message);
      if (receiver == nullptr) continue;
      if (const Said* it = std::get_if<Said>(receiver)) found.emplace_back(envelope.to, *it);
    }
    return found;
  }
  static Roster roster() { return {{{left, "tcp://a", 0, 1}, {right, "tcp://b", 1, 3}}}; }
  static Save save(Version version) {
    Progress progress;
    progress.version = version;
    progress.epoch = 3;
    progress.policy_state = "policy";
    return {progress};
  }
  static State state(Version version, std::uint32_t slice, std::uint32_t slot, float value) {
    return {version, slice, slot, version, Blob::copy_of(std::vector<float>(slice == 2 ? 2 : 4, value))};
  }
  void send_all(Version version, float value) {
    for (std::uint32_t slice = 0; slice < 3; ++slice) {
      for (std::uint32_t slot = 0; slot < 2; ++slot) {
        tell(slice == 0 ? left : right, state(version, slice, slot, value + static_cast<float>(10 * slot)));
      }
    }
  }

  std::vector<Snapshot> stored;
  std::string trouble;
  Time now{std::chrono::seconds(1)};
  std::vector<Envelope> said;
  Keeper keeper{self, initial(), 1, [this](const Snapshot& snapshot) { return store(snapshot); }};
};

TEST_F(KeeperTest, GivesEachShardItsPartOfTheBeginning) {
  tell(scheduler_node, roster());
  EXPECT_EQ((heard<ToLink, Connect>().size()), 2U);
  const auto loads = heard<ToShard, Load>();
  ASSERT_EQ(loads.size(), 6U) << "three slices, parameters and one slot of state";
  std::vector<float> parameters;
  for (const auto& [to, load] : loads) {
    EXPECT_EQ(to, load.slice == 0 ? left : right);
    EXPECT_EQ(std::tie(load.term, load.version, load.steps), std::make_tuple(2U, 7U, 6U));
    const auto values = load.values.floats();
    if (load.slot == 0) {
      parameters.insert(parameters.end(), values.begin(), values.end());
    } else {
      EXPECT_THAT(std::vector(values.begin(), values.end()), ::testing::Each(0.0F)) << "no state yet: zeros";
    }
  }
  EXPECT_EQ(parameters, initial().parameters);
}

TEST_F(KeeperTest, GathersOneCutAndStoresIt) {
  tell(scheduler_node, roster());
  tell(scheduler_node, save(8));
  const auto fetches = heard<ToShard, Fetch>();
  ASSERT_EQ(fetches.size(), 2U);
  EXPECT_EQ(fetches[0].second.version, 8U);
  send_all(8, 5);
  ASSERT_EQ(stored.size(), 1U);
  EXPECT_EQ(stored[0].progress.version, 8U);
  EXPECT_EQ(stored[0].progress.policy_state, "policy");
  EXPECT_EQ(stored[0].seed, 99U);
  EXPECT_EQ(stored[0].steps, 8U);
  EXPECT_EQ(stored[0].source, initial().source);
  EXPECT_EQ(stored[0].parameters, std::vector<float>(10, 5.0F));
  EXPECT_THAT(stored[0].state, ElementsAre(std::vector<float>(10, 15.0F)));
  const auto told = heard<ToScheduler, Saved>();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_TRUE(told[0].second.ok);
  EXPECT_EQ(told[0].second.text, "checkpoints/8");
  EXPECT_EQ((heard<ToShard, Saved>().size()), 2U) << "the shards need not keep it any longer";
}

TEST_F(KeeperTest, WhatDoesNotFitIsNotTaken) {
  tell(scheduler_node, roster());
  tell(scheduler_node, save(8));
  State wrong = state(8, 2, 0, 1);
  wrong.values = Blob::copy_of(std::vector<float>(4, 1.0F));
  tell(right, wrong);              // another slice's size
  tell(right, state(8, 3, 0, 1));  // no such slice
  tell(right, state(8, 0, 2, 1));  // no such slot
  tell(right, state(7, 0, 0, 1));  // a version that nobody asked for
  tell(left, state(8, 0, 0, 5));
  tell(left, state(8, 0, 0, 77));  // said twice: the first one counts, and counts once
  for (std::uint32_t slot = 0; slot < 2; ++slot) {
    tell(right, state(8, 1, slot, 5));
    tell(right, state(8, 2, slot, 5));
  }
  EXPECT_THAT(stored, IsEmpty());
  tell(left, state(8, 0, 1, 5));
  ASSERT_EQ(stored.size(), 1U);
  EXPECT_EQ(stored[0].parameters, std::vector<float>(10, 5.0F));
}

TEST_F(KeeperTest, AFailureToStoreIsTold) {
  trouble = "cannot write model.safetensors: no space left; free some and resume";
  tell(scheduler_node, roster());
  tell(scheduler_node, save(8));
  send_all(8, 5);
  const auto told = heard<ToScheduler, Saved>();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_FALSE(told[0].second.ok);
  EXPECT_EQ(told[0].second.text, trouble);
  trouble.clear();
  tell(scheduler_node, save(9));
  send_all(9, 6);
  EXPECT_EQ(stored.size(), 1U) << "the next one may work again";
}

TEST_F(KeeperTest, ParametersThatAreNoNumbersReplaceNoCheckpoint) {
  tell(scheduler_node, roster());
  tell(scheduler_node, save(8));
  send_all(8, std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(stored.empty());
  const auto told = heard<ToScheduler, Saved>();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_FALSE(told[0].second.ok);
  EXPECT_THAT(told[0].second.text, ::testing::HasSubstr("not finite"));
}

TEST_F(KeeperTest, AVersionThatIsGoneIsToldAsFailed) {
  tell(scheduler_node, roster());
  tell(scheduler_node, save(8));
  tell(left, Gone{7, 9});
  EXPECT_THAT(said, IsEmpty());
  tell(left, Gone{8, 9});
  const auto told = heard<ToScheduler, Saved>();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_FALSE(told[0].second.ok);
  EXPECT_THAT(told[0].second.text, HasSubstr("version 8"));
  tell(right, Gone{8, 9});
  EXPECT_THAT(said, IsEmpty()) << "told once";
}

TEST_F(KeeperTest, AsksAgainUntilItHasAllAndOldestFirst) {
  tell(scheduler_node, roster());
  tell(scheduler_node, save(8));
  tell(scheduler_node, save(8));
  EXPECT_THAT(said, IsEmpty()) << "it knows";
  tell(scheduler_node, save(9));
  wake(1);
  EXPECT_EQ((heard<ToScheduler, KeeperBeat>().size()), 1U);
  EXPECT_THAT((heard<ToShard, Fetch>()), IsEmpty()) << "the answers may be on their way";
  wake(2);
  const auto fetches = heard<ToShard, Fetch>();
  ASSERT_EQ(fetches.size(), 2U);
  EXPECT_EQ(fetches[0].second.version, 8U);
  wake(0.1);
  EXPECT_THAT(said, IsEmpty()) << "not before its time";
  send_all(8, 5);
  const auto next = heard<ToShard, Fetch>();
  ASSERT_EQ(next.size(), 2U);
  EXPECT_EQ(next[0].second.version, 9U) << "the next one at once";
  send_all(9, 6);
  EXPECT_EQ(stored.size(), 2U);
}

TEST_F(KeeperTest, StatesOfTwoVersionsAreNotMixed) {
  tell(scheduler_node, roster());
  tell(scheduler_node, save(8));
  tell(scheduler_node, save(9));
  for (std::uint32_t slice = 0; slice < 3; ++slice) {
    for (std::uint32_t slot = 0; slot < 2; ++slot) {
      tell(left, state(9, slice, slot, 9));
      tell(left, state(8, slice, slot, 8));
    }
  }
  ASSERT_EQ(stored.size(), 2U);
  for (const Snapshot& snapshot : stored) {
    const auto value = static_cast<float>(snapshot.progress.version);
    EXPECT_EQ(snapshot.parameters, std::vector<float>(10, value));
  }
}

// A repeated Save is the scheduler's way to ask again, but it says nothing new.
TEST_F(KeeperTest, WhatIsIgnoredIsCounted) {
  tell(scheduler_node, roster());
  tell(scheduler_node, roster());
  tell(scheduler_node, save(8));
  EXPECT_EQ(keeper.ignored(), 0U);
  tell(scheduler_node, save(8));
  EXPECT_EQ(keeper.ignored(), 1U) << "it is being gathered";
  tell(left, state(7, 0, 0, 1));
  tell(left, state(8, 3, 0, 1));
  tell(left, state(8, 0, 2, 1));
  EXPECT_EQ(keeper.ignored(), 4U) << "no such version, slice, slot";
  tell(left, state(8, 0, 0, 1));
  EXPECT_EQ(keeper.ignored(), 4U);
  tell(left, state(8, 0, 0, 1));
  EXPECT_EQ(keeper.ignored(), 5U) << "said twice";
  tell(left, Gone{7, 9});
  EXPECT_EQ(keeper.ignored(), 6U) << "nobody asked for it";
  tell(left, Alien{7});
  EXPECT_EQ(keeper.ignored(), 7U);
  send_all(8, 5);
  EXPECT_EQ(keeper.ignored(), 8U) << "one of them was here already";
  tell(scheduler_node, save(8));
  EXPECT_EQ(keeper.ignored(), 8U) << "answered again";
  Outbox out(self);
  keeper.step(now, {scheduler_node, self, Message(std::in_place_type<ToShard>, Open{})}, out);
  EXPECT_EQ(keeper.ignored(), 9U) << "not for it";
  tell(scheduler_node, Stop{});
  tell(scheduler_node, save(9));
  EXPECT_EQ(keeper.ignored(), 10U) << "it has ended";
}

TEST_F(KeeperTest, EndsWithTheJob) {
  EXPECT_EQ(keeper.deadline(), Time{}) << "says at once that it is there";
  tell(left, Lost{left});
  tell(scheduler_node, Lost{scheduler_node});
  EXPECT_FALSE(keeper.finished()) << "connections come back";
  tell(scheduler_node, Stop{});
  EXPECT_TRUE(keeper.finished());
  EXPECT_EQ(keeper.deadline(), Time::max());
}

}  // namespace
}  // namespace steelyard
