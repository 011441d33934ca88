// Transfers against stand-ins for shards, which may lose messages.
#include "protocol/state_transfer.h"

#include <gmock/gmock.h>

#include <map>
#include <tuple>

#include "tests/support/heard.h"
#include "tests/support/memory_file.h"

namespace steelyard::state_transfer_test {
namespace {

using test::MemoryFile;
using test::random_bytes;
using test::state_part;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Term term = 3;
constexpr std::uint64_t attempt = 4;
constexpr Version version = 9;
constexpr Time begun{std::chrono::seconds(1)};

std::vector<ShardPlace> places(std::size_t count) {
  std::vector<ShardPlace> all;
  for (std::uint32_t i = 0; i < count; ++i) all.push_back({{Role::shard, 10 + i}, "tcp://s", i, i + 1});
  return all;
}

std::vector<Envelope> messages_of(auto&& act) {
  Outbox out({Role::worker, 1});
  act(out);
  return out.take();
}
std::vector<std::uint32_t> parts_in(const std::vector<PutState>& puts) {
  std::vector<std::uint32_t> parts;
  for (const PutState& put : puts) parts.push_back(put.part);
  return parts;
}
std::vector<std::uint32_t> parts_in(const std::vector<GetState>& gets) {
  std::vector<std::uint32_t> parts;
  for (const GetState& get : gets) parts.push_back(get.part);
  return parts;
}

// ---- uploads

class Upload : public ::testing::Test {
 protected:
  StateUpload upload(const std::vector<std::byte>& state) {
    return {term, attempt, version, state.size(), [&state](std::uint64_t begin, std::uint64_t bytes) {
              return MemoryFile(state).read(begin, bytes);
            }};
  }
  std::vector<PutState> sent(StateUpload& it, Time now = begun) {
    return test::heard<PutState>(messages_of([&](Outbox& out) { it.send(now, shards, out); }));
  }
  void store(StateUpload& it, std::uint32_t part) { it.stored(begun, {term, attempt, part}); }

  std::vector<ShardPlace> shards = places(2);
  const std::vector<std::byte> state = random_bytes(4 * state_part_bytes + 5, 1);
};

TEST_F(Upload, SendsOnePartAndMoreWithEachAnswer) {
  StateUpload it = upload(state);
  EXPECT_THAT(parts_in(sent(it)), ElementsAre(0));
  EXPECT_THAT(sent(it), IsEmpty()) << "it is on its way";
  store(it, 0);
  EXPECT_THAT(parts_in(sent(it)), ElementsAre(1, 2));
  store(it, 2);
  EXPECT_THAT(parts_in(sent(it)), ElementsAre(3, 4));
  store(it, 1), store(it, 3);
  EXPECT_FALSE(it.complete());
  store(it, 4);
  EXPECT_TRUE(it.complete());
  EXPECT_THAT(sent(it), IsEmpty());
}

TEST_F(Upload, PartsGoToTheShardsInTurn) {
  StateUpload it = upload(state);
  std::map<NodeId, std::vector<std::uint32_t>> by_shard;
  std::vector<std::byte> arrived;
  while (!it.complete()) {
    const auto envelopes = messages_of([&](Outbox& out) { it.send(begun, shards, out); });
    ASSERT_FALSE(envelopes.empty());
    for (const Envelope& envelope : envelopes) {
      const auto& put = std::get<PutState>(std::get<ToShard>(envelope.message));
      EXPECT_EQ(std::tuple(put.term, put.attempt, put.version, put.parts),
                std::tuple(term, attempt, version, 5U));
      EXPECT_EQ(put.part * state_part_bytes, arrived.size()) << "in order";
      arrived.insert(arrived.end(), put.bytes.bytes().begin(), put.bytes.bytes().end());
      by_shard[envelope.to].push_back(put.part);
      store(it, put.part);
    }
  }
  EXPECT_THAT(by_shard[shards[0].node], ElementsAre(0, 2, 4));
  EXPECT_THAT(by_shard[shards[1].node], ElementsAre(1, 3));
  EXPECT_TRUE(arrived == state);
}

TEST_F(Upload, AStateOfWholePartsHasNoEmptyPart) {
  const auto two = random_bytes(2 * state_part_bytes, 2);
  StateUpload it = upload(two);
  const auto first = sent(it);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].parts, 2U);
}

TEST_F(Upload, LostMessagesAreRepeated) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Random random(seed);
    const auto loses = [&] { return random.below(3) == 0; };
    StateUpload it = upload(state);
    MemoryFile kept;
    for (Time now = begun; !it.complete(); now = now + from_seconds(1)) {
      ASSERT_LT(now, begun + from_seconds(10'000)) << "seed " << seed;
      for (const PutState& put : sent(it, now)) {
        if (loses()) continue;
        kept.write(put.part * state_part_bytes, put.bytes);
        if (!loses()) it.stored(now, {term, attempt, put.part});
      }
    }
    EXPECT_TRUE(kept.contents == state) << "seed " << seed;
  }
}

TEST_F(Upload, ARestartSendsPartsAgainAtOnce) {
  StateUpload it = upload(state);
  sent(it);
  store(it, 0);
  sent(it);
  it.restart();
  EXPECT_THAT(parts_in(sent(it)), ElementsAre(1));
}

TEST_F(Upload, OnlyAnswersToItCount) {
  StateUpload it = upload(state);
  sent(it);
  it.stored(begun, {term, attempt - 1, 0});
  it.stored(begun, {term + 1, attempt, 0});
  it.stored(begun, {term, attempt, 99});
  EXPECT_THAT(sent(it), IsEmpty());
  EXPECT_EQ(it.attempt(), attempt);
}

TEST_F(Upload, WaitsForTheRoster) {
  StateUpload it = upload(state);
  shards.clear();
  EXPECT_THAT(sent(it), IsEmpty());
  shards = places(1);
  EXPECT_THAT(parts_in(sent(it)), ElementsAre(0));
}

TEST_F(Upload, AFailureToReadIsThrown) {
  StateUpload it(term, attempt, version, 10,
                 [](std::uint64_t, std::uint64_t) -> Blob { throw Failure(ExitCode::io, "no such file"); });
  EXPECT_THROW(sent(it), Failure);
}

// ---- downloads

class Download : public ::testing::Test {
 protected:
  StateDownload download(std::uint64_t of = attempt) {
    return {term, of, version, [this](std::uint64_t begin, const Blob& bytes) {
              ++written;
              file.write(begin, bytes);
            }};
  }
  std::vector<GetState> asked(StateDownload& it, Time now = begun) {
    return test::heard<GetState>(messages_of([&](Outbox& out) { it.ask(now, shards, out); }));
  }
  [[nodiscard]] WorkerState part(std::uint32_t number, std::uint64_t of = attempt) const {
    return {term, of, version, number, 5, state_part(state, number)};
  }
  static WorkerState superseded(std::uint64_t requested) { return {term, requested, version, 0, 0, {}}; }

  std::vector<ShardPlace> shards = places(3);
  const std::vector<std::byte> state = random_bytes(4 * state_part_bytes + 5, 1);
  MemoryFile file;
  int written = 0;
};

TEST_F(Download, TheFirstPartShowsHowManyThereAre) {
  StateDownload it = download();
  EXPECT_FALSE(it.begun());
  const auto envelopes = messages_of([&](Outbox& out) { it.ask(begun, shards, out); });
  ASSERT_EQ(envelopes.size(), 1U);
  EXPECT_EQ(envelopes[0].to, shards[0].node);
  const auto& get = std::get<GetState>(std::get<ToShard>(envelopes[0].message));
  EXPECT_EQ(std::tuple(get.term, get.attempt, get.version, get.part), std::tuple(term, attempt, version, 0U));
  EXPECT_THAT(asked(it), IsEmpty());
  EXPECT_TRUE(it.take(begun, part(0)));
  EXPECT_TRUE(it.begun());
  EXPECT_THAT(parts_in(asked(it)), ElementsAre(1, 2));
  for (const std::uint32_t number : {2, 1, 4, 3}) EXPECT_TRUE(it.take(begun, part(number)));
  EXPECT_TRUE(it.complete());
  EXPECT_TRUE(file.contents == state);
}

TEST_F(Download, EachPartIsWrittenOnce) {
  StateDownload it = download();
  EXPECT_TRUE(it.take(begun, part(1))) << "an unrequested part is accepted";
  EXPECT_FALSE(it.take(begun, part(1)));
  EXPECT_EQ(written, 1);
}

TEST_F(Download, LostMessagesAreRepeated) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Random random(seed);
    const auto loses = [&] { return random.below(3) == 0; };
    file.contents.clear();
    StateDownload it = download();
    for (Time now = begun; !it.complete(); now = now + from_seconds(1)) {
      ASSERT_LT(now, begun + from_seconds(10'000)) << "seed " << seed;
      for (const Envelope& envelope : messages_of([&](Outbox& out) { it.ask(now, shards, out); })) {
        const auto& get = std::get<GetState>(std::get<ToShard>(envelope.message));
        EXPECT_EQ(envelope.to, shards[get.part % 3].node);
        if (!loses()) (void)it.take(now, part(get.part));
      }
    }
    EXPECT_TRUE(file.contents == state) << "seed " << seed;
  }
}

TEST_F(Download, ARestartAsksAgainAtOnce) {
  StateDownload it = download();
  asked(it);
  it.restart();
  EXPECT_THAT(parts_in(asked(it)), ElementsAre(0));
  (void)it.take(begun, part(0));
  asked(it);
  it.restart();
  EXPECT_THAT(parts_in(asked(it)), ElementsAre(1));
}

TEST_F(Download, OfAnyAttemptTheFirstPartDecides) {
  StateDownload it = download(0);
  ASSERT_EQ(asked(it).size(), 1U);
  EXPECT_TRUE(it.take(begun, part(0, 7)));
  const auto more = asked(it);
  ASSERT_EQ(more.size(), 2U);
  EXPECT_EQ(more[0].attempt, 7U);
  EXPECT_FALSE(it.take(begun, part(1, 8))) << "of another state";
  EXPECT_TRUE(it.take(begun, part(1, 7)));
  EXPECT_EQ(it.attempt(), 0U) << "as ordered";
}

TEST_F(Download, EndsIfItIsSuperseded) {
  StateDownload it = download();
  EXPECT_FALSE(it.take(begun, superseded(attempt - 1))) << "the answer to an earlier request";
  EXPECT_FALSE(it.superseded());
  EXPECT_TRUE(it.take(begun, superseded(attempt)));
  EXPECT_TRUE(it.superseded());
  EXPECT_FALSE(it.begun());
  EXPECT_FALSE(it.complete());
  EXPECT_THAT(asked(it, begun + from_seconds(100)), IsEmpty());
  StateDownload any = download(0);
  EXPECT_TRUE(any.take(begun, superseded(0)));
  EXPECT_TRUE(any.superseded());
}

TEST_F(Download, MalformedPartsAreRefused) {
  StateDownload it = download();
  const auto refused = [&](auto change) {
    WorkerState wrong = part(1);
    change(wrong);
    return !it.take(begun, wrong);
  };
  EXPECT_TRUE(refused([](WorkerState& wrong) { ++wrong.term; }));
  EXPECT_TRUE(refused([](WorkerState& wrong) { ++wrong.version; }));
  EXPECT_TRUE(refused([](WorkerState& wrong) { ++wrong.attempt; }));
  EXPECT_TRUE(refused([](WorkerState& wrong) { wrong.part = wrong.parts; }));
  EXPECT_TRUE(refused([](WorkerState& wrong) { wrong.bytes = {}; }));
  EXPECT_TRUE(refused([&](WorkerState& wrong) { wrong.bytes = state_part(state, 4); })) << "too short";
  EXPECT_TRUE(refused([](WorkerState& wrong) {
    wrong.part = 4;
    wrong.bytes = MemoryFile(random_bytes(state_part_bytes + 4, 1)).read(0, state_part_bytes + 4);
  })) << "too long";
  EXPECT_EQ(written, 0);
  EXPECT_FALSE(it.begun());
  EXPECT_TRUE(it.take(begun, part(0)));
  EXPECT_TRUE(refused([](WorkerState& wrong) { ++wrong.parts; })) << "another number than before";
  EXPECT_TRUE(it.take(begun, part(1)));
}

}  // namespace
}  // namespace steelyard::state_transfer_test
