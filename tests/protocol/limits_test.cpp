// Lists and texts longer than a correct sender can need are refused.
#include "protocol/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "protocol/terms.h"
#include "tests/protocol/made_messages.h"

namespace steelyard::limits_test {
namespace {

template <class Receiver, class Content>
std::vector<std::byte> header_of(Content content) {
  return encode(Message(std::in_place_type<Receiver>, std::move(content))).header;
}
template <class Receiver, class Content>
bool accepted_by(Role role, Content content) {
  return std::holds_alternative<Message>(decode(role, header_of<Receiver>(std::move(content)), {}));
}

WorkerBeat holding(std::size_t pieces) {
  WorkerBeat beat;
  beat.held.resize(pieces);
  return beat;
}

TEST(Limits, ABeatListsAtMost65536Pieces) {
  EXPECT_TRUE(accepted_by<ToScheduler>(Role::scheduler, holding(65'536)));
  EXPECT_FALSE(accepted_by<ToScheduler>(Role::scheduler, holding(65'537)));
}

TEST(Limits, AProfileHasAtMost65FiniteTimes) {
  const auto ready = [](std::size_t times, double seconds) {
    return Ready{std::vector<BatchTime>(times, BatchTime{1, seconds}), 0};
  };
  EXPECT_TRUE(accepted_by<ToScheduler>(Role::scheduler, ready(65, 0.1)));
  EXPECT_FALSE(accepted_by<ToScheduler>(Role::scheduler, ready(66, 0.1)));
  for (const double seconds : {std::nan(""), double{INFINITY}})
    EXPECT_FALSE(accepted_by<ToScheduler>(Role::scheduler, ready(1, seconds))) << seconds;
}

TEST(Limits, AListIsRefusedBeforeItsElementsAreRead) {
  auto header = header_of<ToScheduler>(holding(100'000));
  header.resize(40);  // almost nothing follows the length
  const auto decoded = decode(Role::scheduler, header, {});
  ASSERT_TRUE(std::holds_alternative<Damage>(decoded));
  EXPECT_THAT(std::get<Damage>(decoded).why, ::testing::HasSubstr("longer list"));
}

TEST(Limits, NestedListsHaveLimitsOfTheirOwn) {
  Progress progress;
  progress.workers.assign(3, std::string(limits::name, 'x'));
  EXPECT_TRUE(accepted_by<ToCheckpointer>(Role::checkpointer, Save{progress}));
  progress.workers.back() += 'x';
  EXPECT_FALSE(accepted_by<ToCheckpointer>(Role::checkpointer, Save{progress}));
  Job job;
  job.policy_options["a"] = std::string(limits::value + 1, 'x');
  EXPECT_FALSE(accepted_by<ToWorker>(Role::worker, Welcome{1, 2, job}));
}

TEST(Limits, TheSenderTruncatesTextBetweenCharacters) {
  const std::string umlaut = "\xc3\xa4";
  std::string text(limits::text - 1, 'x');
  const auto decoded = decode(Role::scheduler, header_of<ToScheduler>(Goodbye{text + umlaut + umlaut}), {});
  const auto* message = std::get_if<Message>(&decoded);
  ASSERT_NE(message, nullptr);
  EXPECT_EQ(std::get<Goodbye>(std::get<ToScheduler>(*message)).failure, text);
}

// The longest message of a correct member is within the scheduler's limit for a frame.
TEST(Limits, TheSchedulerAcceptsTheLongestMemberMessages) {
  WorkerBeat beat = holding(limits::pieces);
  beat.unreached.resize(limits::shards);
  EXPECT_LT(header_of<ToScheduler>(beat).size(), limits::to_scheduler);
  Covered covered;
  covered.squares.resize(limits::slices_of_shard);
  EXPECT_LT(header_of<ToScheduler>(covered).size(), limits::to_scheduler);
  EXPECT_TRUE(accepted_by<ToScheduler>(Role::scheduler, covered));
}

TEST(Limits, AShardCanForwardItsLongestMessages) {
  BeginRound open;
  open.skipped.resize(limits::skipped);
  EXPECT_LT(header_of<ToShard>(open).size(), limits::forwarded);
  Pull pull;
  pull.own.resize(limits::pieces);
  EXPECT_LT(header_of<ToShard>(pull).size(), limits::forwarded);
  static_assert(limits::staleness == staleness_places);
}

// Reads every message as a receiver does, with one element per list, and counts the lists without a bound.
class BoundsReader : public cereal::InputArchive<BoundsReader, cereal::AllowEmptyClassElision> {
 public:
  BoundsReader() : InputArchive(this) {}
  std::size_t most = SIZE_MAX, each = SIZE_MAX;
  int lists = 0, unbounded = 0;
};
template <Plain T>
void CEREAL_LOAD_FUNCTION_NAME(BoundsReader&, T& value) {
  value = 1;
}
template <class T>
void CEREAL_LOAD_FUNCTION_NAME(BoundsReader& reader, cereal::SizeTag<T>& tag) {
  ++reader.lists;
  reader.unbounded += std::exchange(reader.most, reader.each) == SIZE_MAX ? 1 : 0;
  tag.size = 1;
}
template <class T>
void CEREAL_LOAD_FUNCTION_NAME(BoundsReader&, cereal::BinaryData<T>&) {}
template <class T>
void CEREAL_LOAD_FUNCTION_NAME(BoundsReader& reader, cereal::NameValuePair<T>& pair) {
  reader(pair.value);
}
template <class Enum>
void CEREAL_LOAD_FUNCTION_NAME(BoundsReader&, UpTo<Enum>&) {}
template <Plain Number>
void CEREAL_LOAD_FUNCTION_NAME(BoundsReader&, Positive<Number>&) {}
template <class List>
void CEREAL_LOAD_FUNCTION_NAME(BoundsReader& reader, Bounded<List>& it) {
  const auto outer = std::pair(std::exchange(reader.most, it.most), std::exchange(reader.each, it.each));
  reader(it.value);
  std::tie(reader.most, reader.each) = outer;
}
inline void CEREAL_LOAD_FUNCTION_NAME(BoundsReader& reader, ForPeople&) { ++reader.lists; }
template <class Number>
void CEREAL_LOAD_FUNCTION_NAME(BoundsReader& reader, Anything<Number>& it) {
  if constexpr (!Plain<Number>) {
    const auto outer = std::pair(std::exchange(reader.most, it.most), reader.each);
    reader(it.value);
    std::tie(reader.most, reader.each) = outer;
  }
}
inline void CEREAL_LOAD_FUNCTION_NAME(BoundsReader&, Measured&) {}
template <class T>
void CEREAL_LOAD_FUNCTION_NAME(BoundsReader& reader, Shared<T>& it) {
  T value;
  reader(value);
  it = Shared<T>(std::move(value));
}
inline void CEREAL_LOAD_FUNCTION_NAME(BoundsReader&, Blob&) {}

template <class Receiver, std::size_t kind = 0>
int lists_of_all() {
  if constexpr (kind == std::variant_size_v<Receiver>) {
    return 0;
  } else {
    using Content = std::variant_alternative_t<kind, Receiver>;
    int lists = 0;
    if constexpr (!test::stays_home<Content>) {
      BoundsReader reader;
      Content content;
      reader(content);
      EXPECT_EQ(reader.unbounded, 0) << "a list in kind " << kind << " of " << typeid(Receiver).name();
      lists = reader.lists;
    }
    return lists + lists_of_all<Receiver, kind + 1>();
  }
}

TEST(Limits, EveryListOfEveryMessageHasABound) {
  const int lists = lists_of_all<ToScheduler>() + lists_of_all<ToShard>() + lists_of_all<ToWorker>() +
                    lists_of_all<ToCheckpointer>() + lists_of_all<ToStandby>();
  EXPECT_GT(lists, 40);
}

}  // namespace
}  // namespace steelyard::limits_test
