// The checkpointer: sends the initial state, gathers one version of the model and reports the result.
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

// ---- initial state

TEST_F(CheckpointerTest, EachShardReceivesTheInitialStateItRequests) {
  deliver(scheduler_node, roster());
  EXPECT_EQ((sent<ToLink, Connect>().size()), 2U);
  const auto offers = sent<ToShard, StateOffer>();
  ASSERT_EQ(offers.size(), 2U);
  EXPECT_EQ(offers[0].second.term, 2U);
  EXPECT_THAT((sent<ToShard, StateChunk>()), IsEmpty()) << "no shard has requested any";
  std::vector<float> parameters;
  for (const auto& [shard, part] : {std::pair(left, StatePart{0, 0}), std::pair(right, StatePart{1, 0}),
                                    std::pair(right, StatePart{2, 0}), std::pair(right, StatePart{2, 1})}) {
    deliver(shard, StateRequest{2, {part}, false});
    const auto loads = sent<ToShard, StateChunk>();
    ASSERT_EQ(loads.size(), 1U);
    const auto& [to, load] = loads[0];
    EXPECT_EQ(to, shard);
    EXPECT_EQ(std::tie(load.term, load.version, load.steps), std::make_tuple(2U, 7U, 6U));
    EXPECT_EQ(std::tie(load.slice, load.slot), std::tie(part.slice, part.slot));
    const auto values = load.values.floats();
    if (load.slot == 0) {
      parameters.insert(parameters.end(), values.begin(), values.end());
    } else {
      EXPECT_THAT(std::vector(values.begin(), values.end()), Each(0.0F)) << "initial optimizer state is zero";
    }
  }
  EXPECT_EQ(parameters, initial().parameters);
}

TEST_F(CheckpointerTest, SendsAtMostTheWindowAndOnlyOwnSlices) {
  deliver(scheduler_node, roster());
  deliver(right, StateRequest{2, std::vector<StatePart>(20, {1, 0}), false});
  EXPECT_EQ((sent<ToShard, StateChunk>().size()), transfer_window);
  deliver(right, StateRequest{2, {{0, 0}}, false});
  EXPECT_THAT(output, IsEmpty()) << "a slice of left";
  deliver(right, StateRequest{2, {{3, 0}}, false});
  EXPECT_THAT(output, IsEmpty()) << "no such slice";
  deliver(right, StateRequest{2, {{1, 2}}, false});
  EXPECT_THAT(output, IsEmpty()) << "no such slot";
  deliver(right, StateRequest{1, {{1, 0}}, false});
  EXPECT_THAT(output, IsEmpty()) << "another term";
  deliver({Role::shard, 12}, StateRequest{2, {{1, 0}}, false});
  EXPECT_THAT(output, IsEmpty()) << "an unknown shard";
}

// A checkpoint of a previous process is reported to new shards and, on request, to the scheduler.
TEST_F(CheckpointerTest, ACheckpointOfAPreviousProcessIsReportedAgain) {
  checkpointer.remember({9, true, "checkpoints/9"});
  deliver(scheduler_node, roster());
  EXPECT_EQ((sent<ToShard, Saved>().size()), 2U);
  deliver(scheduler_node, roster());
  EXPECT_THAT((sent<ToShard, Saved>()), IsEmpty()) << "only once";
  deliver(scheduler_node, save(9));
  ASSERT_EQ(saved().size(), 1U);
  EXPECT_EQ(saved()[0].text, "checkpoints/9");
  EXPECT_THAT(stored, IsEmpty());
}

TEST_F(CheckpointerTest, AnOlderSaveWaitsForTheNewerOne) {
  deliver(scheduler_node, roster());
  deliver(scheduler_node, save(9));
  const auto first = output;
  deliver(scheduler_node, save(8));
  output = first;
  serve(1);
  ASSERT_EQ(stored.size(), 1U);
  EXPECT_EQ(stored[0].progress.version, 9U);
  EXPECT_THAT(stored[0].parameters, Each(1.0F));
  wake(0);
  serve(2);
  ASSERT_EQ(stored.size(), 2U);
  EXPECT_EQ(stored[1].progress.version, 8U);
}

TEST_F(CheckpointerTest, InitialStateIsFreedAtTheFirstSave) {
  deliver(scheduler_node, roster());
  deliver(left, StateRequest{2, {{0, 0}}, false});
  const Blob values = sent<ToShard, StateChunk>().at(0).second.values;
  EXPECT_GT(values.owner().use_count(), 1) << "it is sent without a copy";
  output.clear();
  deliver(scheduler_node, save(8));
  EXPECT_EQ(values.owner().use_count(), 1);
  deliver(left, StateRequest{2, {{0, 0}}, false});
  EXPECT_THAT(output, IsEmpty());
}

// ---- checkpoints

TEST_F(CheckpointerTest, GathersOneVersionAndStoresIt) {
  deliver(scheduler_node, roster());
  deliver(scheduler_node, save(8));
  const auto fetches = sent<ToShard, Fetch>();
  ASSERT_EQ(fetches.size(), 2U);
  EXPECT_EQ(fetches[0].second.version, 8U);
  EXPECT_EQ(fetches[0].second.parts.size(), 1U) << "the first fetch asks for one part";
  serve(5);
  ASSERT_EQ(stored.size(), 1U);
  EXPECT_EQ(stored[0].progress.version, 8U);
  EXPECT_EQ(stored[0].progress.policy_state, "policy");
  EXPECT_EQ(stored[0].seed, 99U);
  EXPECT_EQ(stored[0].source, initial().source);
  EXPECT_EQ(stored[0].steps, 8U);
  EXPECT_EQ(stored[0].parameters, std::vector<float>(10, 5.0F));
  EXPECT_THAT(stored[0].state, ElementsAre(std::vector<float>(10, 15.0F)));
  ASSERT_EQ(saved().size(), 1U);
  EXPECT_TRUE(saved()[0].ok);
  EXPECT_EQ(saved()[0].text, "checkpoints/8");
  EXPECT_EQ((sent<ToShard, Saved>().size()), 2U) << "the shards may free it";
}

TEST_F(CheckpointerTest, UnexpectedPartsAreIgnored) {
  deliver(scheduler_node, roster());
  deliver(scheduler_node, save(8));
  const auto fetched = output;
  State wrong = state(8, 2, 0, 1);
  wrong.values = Blob::copy_of(std::vector<float>(4, 1.0F));
  deliver(right, wrong);              // the size of another slice
  deliver(right, state(8, 3, 0, 1));  // no such slice
  deliver(right, state(8, 1, 2, 1));  // no such slot
  deliver(right, state(8, 0, 0, 1));  // a slice of another shard
  deliver(right, state(7, 1, 0, 1));  // a version that was not requested
  EXPECT_EQ(checkpointer.ignored(), 5U);
  deliver(left, state(8, 0, 0, 5));
  deliver(left, state(8, 0, 0, 77));  // a duplicate: only the first counts
  EXPECT_EQ(checkpointer.ignored(), 6U);
  for (std::uint32_t slot = 0; slot < 2; ++slot) {
    deliver(right, state(8, 1, slot, 5));
    deliver(right, state(8, 2, slot, 5));
  }
  EXPECT_THAT(stored, IsEmpty());
  deliver(left, state(8, 0, 1, 5));
  ASSERT_EQ(stored.size(), 1U);
  EXPECT_EQ(stored[0].parameters, std::vector<float>(10, 5.0F));
}

TEST_F(CheckpointerTest, AFailureToStoreIsReportedAndTheNextMaySucceed) {
  const std::string full = "cannot write model.safetensors: no space left; free some and resume";
  deliver(scheduler_node, roster());
  for (const bool no_memory : {false, true}) {
    while_storing = [&] {
      if (no_memory) throw std::bad_alloc();
      throw Failure(ExitCode::io, full);
    };
    deliver(scheduler_node, save(no_memory ? 9 : 8));
    serve(5);
    ASSERT_EQ(saved().size(), 1U);
    EXPECT_FALSE(saved()[0].ok);
    EXPECT_EQ(saved()[0].text, no_memory ? "no memory is left for it" : full);
  }
  while_storing = {};
  deliver(scheduler_node, save(10));
  serve(6);
  EXPECT_EQ(stored.size(), 1U);
}

TEST_F(CheckpointerTest, NonFiniteParametersAreNotStored) {
  deliver(scheduler_node, roster());
  deliver(scheduler_node, save(8));
  serve(std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(stored.empty());
  deliver(scheduler_node, save(8));
  ASSERT_EQ(saved().size(), 1U);
  EXPECT_FALSE(saved()[0].ok);
  EXPECT_THAT(saved()[0].text, HasSubstr("not finite"));
}

TEST_F(CheckpointerTest, AnExpiredVersionIsReportedAsFailed) {
  deliver(scheduler_node, roster());
  deliver(scheduler_node, save(8));
  deliver(left, VersionExpired{7, 9});
  EXPECT_THAT(output, IsEmpty());
  deliver(left, VersionExpired{8, 9});
  ASSERT_EQ(saved().size(), 1U);
  EXPECT_FALSE(saved()[0].ok);
  EXPECT_THAT(saved()[0].text, HasSubstr("version 8"));
  deliver(right, VersionExpired{8, 9});
  EXPECT_THAT(output, IsEmpty()) << "only reported once";
}

TEST_F(CheckpointerTest, ConcurrentSavesAreGatheredInOrder) {
  deliver(scheduler_node, roster());
  deliver(scheduler_node, save(8));
  const auto first = output;
  deliver(scheduler_node, save(8));
  EXPECT_THAT(output, IsEmpty()) << "already being gathered";
  deliver(scheduler_node, save(9));
  EXPECT_THAT(output, IsEmpty()) << "one at a time";
  deliver(left, state(9, 0, 0, 9));
  EXPECT_EQ(checkpointer.ignored(), 2U) << "sent before its fetch";
  output = first;
  serve(8);
  EXPECT_LE(checkpointer.deadline(), now) << "the next one starts at once";
  wake(0);
  const auto next = sent<ToShard, Fetch>();
  ASSERT_EQ(next.size(), 2U);
  EXPECT_EQ(next[0].second.version, 9U);
  serve(9);
  ASSERT_EQ(stored.size(), 2U);
  for (const Snapshot& snapshot : stored) {
    const auto value = static_cast<float>(snapshot.progress.version);
    EXPECT_EQ(snapshot.parameters, std::vector<float>(10, value));
  }
}

// ---- silent shards

TEST_F(CheckpointerTest, RepeatsFetchesAfterATimeoutOrADisconnection) {
  deliver(scheduler_node, roster());
  deliver(scheduler_node, save(8));
  wake(1.9);
  EXPECT_EQ((sent<ToScheduler, CheckpointerBeat>().size()), 1U);
  EXPECT_THAT((sent<ToShard, Fetch>()), IsEmpty()) << "the answers may be on their way";
  wake(0.6);
  EXPECT_EQ((sent<ToShard, Fetch>().size()), 2U);
  wake(0.6);
  EXPECT_THAT((sent<ToShard, Fetch>()), IsEmpty()) << "the timeout has doubled";
  deliver(link_node, Disconnected{left});
  wake(0.6);
  ASSERT_EQ((sent<ToShard, Fetch>().size()), 1U);
  EXPECT_EQ((sent<ToShard, Fetch>()[0].first), left);
}

TEST_F(CheckpointerTest, ASilentShardIsNamedAndFailsTheCheckpoint) {
  deliver(scheduler_node, roster());
  deliver(scheduler_node, save(8));
  serve(5, right);
  double waited = 0;
  for (; waited < 5; waited += 0.5) {
    wake(0.5);
    EXPECT_THAT((sent<ToScheduler, CheckpointerBeat>().at(0).second.silent), IsEmpty()) << waited;
  }
  wake(0.5);
  const auto silent = sent<ToScheduler, CheckpointerBeat>().at(0).second.silent;
  ASSERT_EQ(silent.size(), 1U) << "left has sent all its parts";
  EXPECT_EQ(silent[0].node, right);
  for (; waited < 59; waited += 0.5) {
    wake(0.5);
    EXPECT_THAT(saved(), IsEmpty()) << waited;
  }
  wake(2);
  ASSERT_EQ(saved().size(), 1U);
  EXPECT_FALSE(saved()[0].ok);
  EXPECT_THAT(saved()[0].text, AllOf(HasSubstr("server 'ben' at tcp://b:2"), HasSubstr("--advertise")));
  deliver(scheduler_node, save(9));
  serve(9);
  EXPECT_EQ(stored.size(), 1U) << "the next save must work";
}

// It answers that it has not closed the round yet; that is allowed for 1800 seconds.
TEST_F(CheckpointerTest, AShardThatAnswersNotYetIsNotSilent) {
  deliver(scheduler_node, roster());
  deliver(scheduler_node, save(8));
  for (int s = 0; s < 1800; s += 5) {
    deliver(left, NotYet{8});
    deliver(right, NotYet{8});
    wake(5);
    EXPECT_THAT((sent<ToScheduler, CheckpointerBeat>().at(0).second.silent), IsEmpty());
    EXPECT_THAT(saved(), IsEmpty());
  }
  deliver(left, NotYet{8});
  deliver(right, NotYet{8});
  wake(1);
  ASSERT_EQ(saved().size(), 1U);
  EXPECT_THAT(saved()[0].text, HasSubstr("no part of it has arrived for 180"));
}

TEST_F(CheckpointerTest, AShardThatDoesNotLoadIsNamed) {
  for (int i = 0; i < 12; ++i) {
    deliver(scheduler_node, roster());
    deliver(left, StateRequest{2, {}, false});
    wake(0.5);
  }
  const auto silent = sent<ToScheduler, CheckpointerBeat>().at(0).second.silent;
  ASSERT_EQ(silent.size(), 1U);
  EXPECT_EQ(silent[0].node, right);
  deliver(right, StateRequest{2, {}, true});
  for (int i = 0; i < 12; ++i) {
    deliver(scheduler_node, roster());
    deliver(left, StateRequest{2, {}, false});
    wake(0.5);
  }
  EXPECT_THAT((sent<ToScheduler, CheckpointerBeat>().at(0).second.silent), IsEmpty())
      << "it has loaded everything";
}

// After a restart the weights that a worker had sent are not available.
TEST_F(CheckpointerTest, AnUnknownInitialStateIsNotSent) {
  Snapshot without = initial();
  without.parameters.clear();
  Checkpointer restarted(checkpointer_self, std::move(without), 1,
                         [](const Snapshot&, std::size_t) { return std::unique_ptr<CheckpointSink>(); });
  Outbox out(checkpointer_self);
  const auto deliver_to_restarted = [&](NodeId from, auto message) {
    restarted.step(
        now, {from, checkpointer_self, Message(std::in_place_type<ToCheckpointer>, std::move(message))}, out);
  };
  deliver_to_restarted(scheduler_node, roster());
  (void)out.take();
  deliver_to_restarted(left, StateRequest{2, {{0, 0}}, false});
  EXPECT_THAT(out.take(), IsEmpty());
  EXPECT_EQ(restarted.ignored(), 1U);
}

// It receives nothing while it writes; shards must not count as silent because of that.
TEST_F(CheckpointerTest, ALongWriteDoesNotMakeShardsSilent) {
  deliver(scheduler_node, roster());
  deliver(scheduler_node, save(8));
  const auto first = output;
  deliver(scheduler_node, save(9));
  while_storing = [&] { now = now + from_seconds(90); };
  output = first;
  serve(8);
  wake(0);
  EXPECT_THAT(saved(), IsEmpty());
  EXPECT_THAT((sent<ToScheduler, CheckpointerBeat>().at(0).second.silent), IsEmpty());
  serve(9);
  EXPECT_EQ(stored.size(), 2U);
}

TEST_F(CheckpointerTest, IgnoredMessagesAreCounted) {
  deliver(scheduler_node, roster());
  deliver(scheduler_node, roster());
  deliver(scheduler_node, save(8));
  EXPECT_EQ(checkpointer.ignored(), 0U);
  const auto first = output;
  deliver(scheduler_node, save(8));
  EXPECT_EQ(checkpointer.ignored(), 1U) << "already being gathered";
  deliver(left, VersionExpired{7, 9});
  EXPECT_EQ(checkpointer.ignored(), 2U) << "not requested";
  deliver(left, VersionMismatch{7});
  EXPECT_EQ(checkpointer.ignored(), 3U);
  output = first;
  serve(5);
  deliver(scheduler_node, save(8));
  EXPECT_EQ(checkpointer.ignored(), 3U) << "answered again";
  Outbox out(checkpointer_self);
  checkpointer.step(
      now, {scheduler_node, checkpointer_self, Message(std::in_place_type<ToShard>, BeginRound{})}, out);
  EXPECT_EQ(checkpointer.ignored(), 4U) << "for another role";
  deliver(scheduler_node, Stop{});
  deliver(scheduler_node, save(9));
  EXPECT_EQ(checkpointer.ignored(), 5U) << "after Stop";
}

TEST_F(CheckpointerTest, EndsWithTheJob) {
  EXPECT_EQ(checkpointer.deadline(), Time{}) << "the first heartbeat is due at once";
  deliver(left, Disconnected{left});
  deliver(scheduler_node, Disconnected{scheduler_node});
  EXPECT_FALSE(checkpointer.finished()) << "it waits for connections to return";
  deliver(scheduler_node, Stop{});
  EXPECT_TRUE(checkpointer.finished());
  EXPECT_EQ(checkpointer.deadline(), Time::max());
}

}  // namespace
}  // namespace steelyard::checkpointer_test
