// The checkpointer: hands out the state to begin with, gathers one cut through the model, tells how storing
// went.
#include "server/checkpoint/checkpointer.h"

#include <limits>
#include <new>

#include "tests/server/checkpoint/checkpointer_case.h"

namespace steelyard::checkpointer_test {
namespace {

using test::checkpointer_self;
using test::left;
using test::right;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CheckpointerTest : public test::CheckpointerCase {};

// ---- the state to begin with

TEST_F(CheckpointerTest, GivesEachShardWhatItAsksForOfTheBeginning) {
  tell(scheduler_node, roster());
  EXPECT_EQ((heard<ToLink, Connect>().size()), 2U);
  const auto offers = heard<ToShard, StateOffer>();
  ASSERT_EQ(offers.size(), 2U);
  EXPECT_EQ(offers[0].second.term, 2U);
  EXPECT_THAT((heard<ToShard, StateChunk>()), IsEmpty()) << "nobody has asked";
  std::vector<float> parameters;
  for (const auto& [shard, part] : {std::pair(left, StatePart{0, 0}), std::pair(right, StatePart{1, 0}),
                                    std::pair(right, StatePart{2, 0}), std::pair(right, StatePart{2, 1})}) {
    tell(shard, StateRequest{2, {part}, false});
    const auto loads = heard<ToShard, StateChunk>();
    ASSERT_EQ(loads.size(), 1U);
    const auto& [to, load] = loads[0];
    EXPECT_EQ(to, shard);
    EXPECT_EQ(std::tie(load.term, load.version, load.steps), std::make_tuple(2U, 7U, 6U));
    EXPECT_EQ(std::tie(load.slice, load.slot), std::tie(part.slice, part.slot));
    const auto values = load.values.floats();
    if (load.slot == 0) {
      parameters.insert(parameters.end(), values.begin(), values.end());
    } else {
      EXPECT_THAT(std::vector(values.begin(), values.end()), Each(0.0F)) << "no state yet: zeros";
    }
  }
  EXPECT_EQ(parameters, initial().parameters);
}

TEST_F(CheckpointerTest, NeverSendsMoreThanTheWindowNorWhatIsOthers) {
  tell(scheduler_node, roster());
  tell(right, StateRequest{2, std::vector<StatePart>(20, {1, 0}), false});
  EXPECT_EQ((heard<ToShard, StateChunk>().size()), transfer_window);
  tell(right, StateRequest{2, {{0, 0}}, false});
  EXPECT_THAT(said, IsEmpty()) << "left's";
  tell(right, StateRequest{2, {{3, 0}}, false});
  EXPECT_THAT(said, IsEmpty()) << "no such slice";
  tell(right, StateRequest{2, {{1, 2}}, false});
  EXPECT_THAT(said, IsEmpty()) << "no such slot";
  tell(right, StateRequest{1, {{1, 0}}, false});
  EXPECT_THAT(said, IsEmpty()) << "of another term";
  tell({Role::shard, 12}, StateRequest{2, {{1, 0}}, false});
  EXPECT_THAT(said, IsEmpty()) << "nobody knows it";
}

// Of another process's life: said when a shard is met, and when the scheduler asks.
TEST_F(CheckpointerTest, WhatWasSavedBeforeItsTimeIsSaidAgain) {
  checkpointer.remember({9, true, "checkpoints/9"});
  tell(scheduler_node, roster());
  EXPECT_EQ((heard<ToShard, Saved>().size()), 2U);
  tell(scheduler_node, roster());
  EXPECT_THAT((heard<ToShard, Saved>()), IsEmpty()) << "once";
  tell(scheduler_node, save(9));
  ASSERT_EQ(told().size(), 1U);
  EXPECT_EQ(told()[0].text, "checkpoints/9");
  EXPECT_THAT(stored, IsEmpty());
}

TEST_F(CheckpointerTest, AnOlderVersionThatIsAskedForMeanwhileIsNotMixedIn) {
  tell(scheduler_node, roster());
  tell(scheduler_node, save(9));
  const auto asked = said;
  tell(scheduler_node, save(8));
  said = asked;
  serve(1);
  ASSERT_EQ(stored.size(), 1U);
  EXPECT_EQ(stored[0].progress.version, 9U);
  EXPECT_THAT(stored[0].parameters, Each(1.0F));
  wake(0);
  serve(2);
  ASSERT_EQ(stored.size(), 2U);
  EXPECT_EQ(stored[1].progress.version, 8U);
}

TEST_F(CheckpointerTest, HoldsTheBeginningUntilTheTrainingIsUnderWay) {
  tell(scheduler_node, roster());
  tell(left, StateRequest{2, {{0, 0}}, false});
  const Blob values = heard<ToShard, StateChunk>().at(0).second.values;
  EXPECT_GT(values.owner().use_count(), 1) << "it is sent from where it lies";
  said.clear();
  tell(scheduler_node, save(8));
  EXPECT_EQ(values.owner().use_count(), 1);
  tell(left, StateRequest{2, {{0, 0}}, false});
  EXPECT_THAT(said, IsEmpty());
}

// ---- checkpoints

TEST_F(CheckpointerTest, GathersOneCutAndStoresIt) {
  tell(scheduler_node, roster());
  tell(scheduler_node, save(8));
  const auto fetches = heard<ToShard, Fetch>();
  ASSERT_EQ(fetches.size(), 2U);
  EXPECT_EQ(fetches[0].second.version, 8U);
  EXPECT_EQ(fetches[0].second.parts.size(), 1U) << "one at first";
  serve(5);
  ASSERT_EQ(stored.size(), 1U);
  EXPECT_EQ(stored[0].progress.version, 8U);
  EXPECT_EQ(stored[0].progress.policy_state, "policy");
  EXPECT_EQ(stored[0].seed, 99U);
  EXPECT_EQ(stored[0].source, initial().source);
  EXPECT_EQ(stored[0].steps, 8U);
  EXPECT_EQ(stored[0].parameters, std::vector<float>(10, 5.0F));
  EXPECT_THAT(stored[0].state, ElementsAre(std::vector<float>(10, 15.0F)));
  ASSERT_EQ(told().size(), 1U);
  EXPECT_TRUE(told()[0].ok);
  EXPECT_EQ(told()[0].text, "checkpoints/8");
  EXPECT_EQ((heard<ToShard, Saved>().size()), 2U) << "the shards need not keep it any longer";
}

TEST_F(CheckpointerTest, WhatDoesNotFitIsNotTaken) {
  tell(scheduler_node, roster());
  tell(scheduler_node, save(8));
  const auto fetched = said;
  State wrong = state(8, 2, 0, 1);
  wrong.values = Blob::copy_of(std::vector<float>(4, 1.0F));
  tell(right, wrong);              // another slice's size
  tell(right, state(8, 3, 0, 1));  // no such slice
  tell(right, state(8, 1, 2, 1));  // no such slot
  tell(right, state(8, 0, 0, 1));  // another's slice
  tell(right, state(7, 1, 0, 1));  // a version that nobody asked for
  EXPECT_EQ(checkpointer.ignored(), 5U);
  tell(left, state(8, 0, 0, 5));
  tell(left, state(8, 0, 0, 77));  // said twice: the first one counts, and counts once
  EXPECT_EQ(checkpointer.ignored(), 6U);
  for (std::uint32_t slot = 0; slot < 2; ++slot) {
    tell(right, state(8, 1, slot, 5));
    tell(right, state(8, 2, slot, 5));
  }
  EXPECT_THAT(stored, IsEmpty());
  tell(left, state(8, 0, 1, 5));
  ASSERT_EQ(stored.size(), 1U);
  EXPECT_EQ(stored[0].parameters, std::vector<float>(10, 5.0F));
}

TEST_F(CheckpointerTest, AFailureToStoreIsToldAndTheNextMayWork) {
  const std::string full = "cannot write model.safetensors: no space left; free some and resume";
  tell(scheduler_node, roster());
  for (const bool no_memory : {false, true}) {
    while_storing = [&] {
      if (no_memory) throw std::bad_alloc();
      throw Failure(ExitCode::io, full);
    };
    tell(scheduler_node, save(no_memory ? 9 : 8));
    serve(5);
    ASSERT_EQ(told().size(), 1U);
    EXPECT_FALSE(told()[0].ok);
    EXPECT_EQ(told()[0].text, no_memory ? "no memory is left for it" : full);
  }
  while_storing = {};
  tell(scheduler_node, save(10));
  serve(6);
  EXPECT_EQ(stored.size(), 1U);
}

TEST_F(CheckpointerTest, ParametersThatAreNoNumbersReplaceNoCheckpoint) {
  tell(scheduler_node, roster());
  tell(scheduler_node, save(8));
  serve(std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(stored.empty());
  tell(scheduler_node, save(8));
  ASSERT_EQ(told().size(), 1U);
  EXPECT_FALSE(told()[0].ok);
  EXPECT_THAT(told()[0].text, HasSubstr("not finite"));
}

TEST_F(CheckpointerTest, AVersionThatIsGoneIsToldAsFailed) {
  tell(scheduler_node, roster());
  tell(scheduler_node, save(8));
  tell(left, VersionExpired{7, 9});
  EXPECT_THAT(said, IsEmpty());
  tell(left, VersionExpired{8, 9});
  ASSERT_EQ(told().size(), 1U);
  EXPECT_FALSE(told()[0].ok);
  EXPECT_THAT(told()[0].text, HasSubstr("version 8"));
  tell(right, VersionExpired{8, 9});
  EXPECT_THAT(said, IsEmpty()) << "told once";
}

TEST_F(CheckpointerTest, GathersTheOldestFirstAndEachForItself) {
  tell(scheduler_node, roster());
  tell(scheduler_node, save(8));
  const auto first = said;
  tell(scheduler_node, save(8));
  EXPECT_THAT(said, IsEmpty()) << "it knows";
  tell(scheduler_node, save(9));
  EXPECT_THAT(said, IsEmpty()) << "one after the other";
  tell(left, state(9, 0, 0, 9));
  EXPECT_EQ(checkpointer.ignored(), 2U) << "too soon";
  said = first;
  serve(8);
  EXPECT_LE(checkpointer.deadline(), now) << "the next one at once";
  wake(0);
  const auto next = heard<ToShard, Fetch>();
  ASSERT_EQ(next.size(), 2U);
  EXPECT_EQ(next[0].second.version, 9U);
  serve(9);
  ASSERT_EQ(stored.size(), 2U);
  for (const Snapshot& snapshot : stored) {
    const auto value = static_cast<float>(snapshot.progress.version);
    EXPECT_EQ(snapshot.parameters, std::vector<float>(10, value));
  }
}

// ---- silence

TEST_F(CheckpointerTest, AsksAgainAfterATimeOutAndAtOnceWhenAConnectionBreaks) {
  tell(scheduler_node, roster());
  tell(scheduler_node, save(8));
  wake(1.9);
  EXPECT_EQ((heard<ToScheduler, CheckpointerBeat>().size()), 1U);
  EXPECT_THAT((heard<ToShard, Fetch>()), IsEmpty()) << "the answers may be on their way";
  wake(0.6);
  EXPECT_EQ((heard<ToShard, Fetch>().size()), 2U);
  wake(0.6);
  EXPECT_THAT((heard<ToShard, Fetch>()), IsEmpty()) << "the time-out has doubled";
  tell(link_node, Disconnected{left});
  wake(0.6);
  ASSERT_EQ((heard<ToShard, Fetch>().size()), 1U);
  EXPECT_EQ((heard<ToShard, Fetch>()[0].first), left);
}

TEST_F(CheckpointerTest, AShardThatDoesNotAnswerIsNamedAndCostsTheCheckpointOnly) {
  tell(scheduler_node, roster());
  tell(scheduler_node, save(8));
  serve(5, right);
  double waited = 0;
  for (; waited < 5; waited += 0.5) {
    wake(0.5);
    EXPECT_THAT((heard<ToScheduler, CheckpointerBeat>().at(0).second.silent), IsEmpty()) << waited;
  }
  wake(0.5);
  const auto silent = heard<ToScheduler, CheckpointerBeat>().at(0).second.silent;
  ASSERT_EQ(silent.size(), 1U) << "left has sent all that it had";
  EXPECT_EQ(silent[0].node, right);
  for (; waited < 59; waited += 0.5) {
    wake(0.5);
    EXPECT_THAT(told(), IsEmpty()) << waited;
  }
  wake(2);
  ASSERT_EQ(told().size(), 1U);
  EXPECT_FALSE(told()[0].ok);
  EXPECT_THAT(told()[0].text, AllOf(HasSubstr("server 'ben' at tcp://b:2"), HasSubstr("--advertise")));
  tell(scheduler_node, save(9));
  serve(9);
  EXPECT_EQ(stored.size(), 1U) << "it may be back";
}

// It answers, but has not closed the round: that may take its time, and not for ever.
TEST_F(CheckpointerTest, AShardThatIsNotThereYetIsNotSilent) {
  tell(scheduler_node, roster());
  tell(scheduler_node, save(8));
  for (int s = 0; s < 1800; s += 5) {
    tell(left, NotYet{8});
    tell(right, NotYet{8});
    wake(5);
    EXPECT_THAT((heard<ToScheduler, CheckpointerBeat>().at(0).second.silent), IsEmpty());
    EXPECT_THAT(told(), IsEmpty());
  }
  tell(left, NotYet{8});
  tell(right, NotYet{8});
  wake(1);
  ASSERT_EQ(told().size(), 1U);
  EXPECT_THAT(told()[0].text, HasSubstr("no part of it has arrived for 180"));
}

TEST_F(CheckpointerTest, AShardThatCannotBeLoadedIsNamed) {
  for (int i = 0; i < 12; ++i) {
    tell(scheduler_node, roster());
    tell(left, StateRequest{2, {}, false});
    wake(0.5);
  }
  const auto silent = heard<ToScheduler, CheckpointerBeat>().at(0).second.silent;
  ASSERT_EQ(silent.size(), 1U);
  EXPECT_EQ(silent[0].node, right);
  tell(right, StateRequest{2, {}, true});
  for (int i = 0; i < 12; ++i) {
    tell(scheduler_node, roster());
    tell(left, StateRequest{2, {}, false});
    wake(0.5);
  }
  EXPECT_THAT((heard<ToScheduler, CheckpointerBeat>().at(0).second.silent), IsEmpty()) << "it has all";
}

// After a restart, of a model that a worker had told.
TEST_F(CheckpointerTest, AFirstStateThatIsNotKnownIsGivenToNobody) {
  Snapshot without = initial();
  without.parameters.clear();
  Checkpointer restarted(checkpointer_self, std::move(without), 1,
                         [](const Snapshot&, std::size_t) { return std::unique_ptr<CheckpointSink>(); });
  Outbox out(checkpointer_self);
  const auto hear = [&](NodeId from, auto message) {
    restarted.step(
        now, {from, checkpointer_self, Message(std::in_place_type<ToCheckpointer>, std::move(message))}, out);
  };
  hear(scheduler_node, roster());
  (void)out.take();
  hear(left, StateRequest{2, {{0, 0}}, false});
  EXPECT_THAT(out.take(), IsEmpty());
  EXPECT_EQ(restarted.ignored(), 1U);
}

// While it writes it hears nobody.
TEST_F(CheckpointerTest, ALongWriteIsNobodysSilence) {
  tell(scheduler_node, roster());
  tell(scheduler_node, save(8));
  const auto first = said;
  tell(scheduler_node, save(9));
  while_storing = [&] { now = now + from_seconds(90); };
  said = first;
  serve(8);
  wake(0);
  EXPECT_THAT(told(), IsEmpty());
  EXPECT_THAT((heard<ToScheduler, CheckpointerBeat>().at(0).second.silent), IsEmpty());
  serve(9);
  EXPECT_EQ(stored.size(), 2U);
}

TEST_F(CheckpointerTest, WhatIsIgnoredIsCounted) {
  tell(scheduler_node, roster());
  tell(scheduler_node, roster());
  tell(scheduler_node, save(8));
  EXPECT_EQ(checkpointer.ignored(), 0U);
  const auto first = said;
  tell(scheduler_node, save(8));
  EXPECT_EQ(checkpointer.ignored(), 1U) << "it is being gathered";
  tell(left, VersionExpired{7, 9});
  EXPECT_EQ(checkpointer.ignored(), 2U) << "nobody asked for it";
  tell(left, VersionMismatch{7});
  EXPECT_EQ(checkpointer.ignored(), 3U);
  said = first;
  serve(5);
  tell(scheduler_node, save(8));
  EXPECT_EQ(checkpointer.ignored(), 3U) << "answered again";
  Outbox out(checkpointer_self);
  checkpointer.step(
      now, {scheduler_node, checkpointer_self, Message(std::in_place_type<ToShard>, BeginRound{})}, out);
  EXPECT_EQ(checkpointer.ignored(), 4U) << "not for it";
  tell(scheduler_node, Stop{});
  tell(scheduler_node, save(9));
  EXPECT_EQ(checkpointer.ignored(), 5U) << "it has ended";
}

TEST_F(CheckpointerTest, EndsWithTheJob) {
  EXPECT_EQ(checkpointer.deadline(), Time{}) << "says at once that it is there";
  tell(left, Disconnected{left});
  tell(scheduler_node, Disconnected{scheduler_node});
  EXPECT_FALSE(checkpointer.finished()) << "connections come back";
  tell(scheduler_node, Stop{});
  EXPECT_TRUE(checkpointer.finished());
  EXPECT_EQ(checkpointer.deadline(), Time::max());
}

}  // namespace
}  // namespace steelyard::checkpointer_test
