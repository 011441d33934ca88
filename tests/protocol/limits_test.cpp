// Lists and texts that are longer than an honest sender can need are refused.
#include "protocol/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/terms.h"
#include "tests/protocol/made_messages.h"

namespace steelyard::limits_test {
namespace {

template <class Receiver, class Said>
std::vector<std::byte> header_of(Said said) {
  return encode(Message(std::in_place_type<Receiver>, std::move(said))).header;
}
template <class Receiver, class Said>
bool travels_to(Role role, Said said) {
  return std::holds_alternative<Message>(decode(role, header_of<Receiver>(std::move(said)), {}));
}

WorkerBeat holding(std::size_t pieces) {
  WorkerBeat beat;
  beat.held.resize(pieces);
  return beat;
}

TEST(Limits, AWorkerHoldsNoMorePiecesThanItCan) {
  EXPECT_TRUE(travels_to<ToScheduler>(Role::scheduler, holding(65'536)));
  EXPECT_FALSE(travels_to<ToScheduler>(Role::scheduler, holding(65'537)));
}

TEST(Limits, AListIsRefusedBeforeItsElementsAreRead) {
  auto header = header_of<ToScheduler>(holding(100'000));
  header.resize(40);  // behind the length there is next to nothing
  const auto decoded = decode(Role::scheduler, header, {});
  ASSERT_TRUE(std::holds_alternative<Damage>(decoded));
  EXPECT_THAT(std::get<Damage>(decoded).why, ::testing::HasSubstr("longer list"));
}

TEST(Limits, ListsInsideOfListsHaveTheirOwn) {
  Progress progress;
  progress.workers.assign(3, std::string(limits::name, 'x'));
  EXPECT_TRUE(travels_to<ToCheckpointer>(Role::checkpointer, Save{progress}));
  progress.workers.back() += 'x';
  EXPECT_FALSE(travels_to<ToCheckpointer>(Role::checkpointer, Save{progress}));
  Job job;
  job.policy_options["a"] = std::string(limits::value + 1, 'x');
  EXPECT_FALSE(travels_to<ToWorker>(Role::worker, Welcome{1, 2, job}));
}

TEST(Limits, ATextForPeopleIsCutByItsSenderBetweenTwoLetters) {
  const std::string umlaut = "\xc3\xa4";
  std::string text(limits::text - 1, 'x');
  const auto decoded = decode(Role::scheduler, header_of<ToScheduler>(Goodbye{text + umlaut + umlaut}), {});
  const auto* message = std::get_if<Message>(&decoded);
  ASSERT_NE(message, nullptr);
  EXPECT_EQ(std::get<Goodbye>(std::get<ToScheduler>(*message)).failure, text);
}

// What an honest member sends at its longest is one frame that the scheduler takes.
TEST(Limits, TheLongestOfAMemberIsNotTooLongForTheScheduler) {
  WorkerBeat beat = holding(limits::pieces);
  beat.unreached.resize(limits::shards);
  EXPECT_LT(header_of<ToScheduler>(beat).size(), limits::to_scheduler);
  Covered covered;
  covered.squares.resize(limits::slices_of_shard);
  EXPECT_LT(header_of<ToScheduler>(covered).size(), limits::to_scheduler);
  EXPECT_TRUE(travels_to<ToScheduler>(Role::scheduler, covered));
}

TEST(Limits, AMirrorIsForwardedAnythingThatAShardIsTold) {
  BeginRound open;
  open.skipped.resize(limits::skipped);
  EXPECT_LT(header_of<ToShard>(open).size(), limits::forwarded);
  Pull pull;
  pull.own.resize(limits::pieces);
  EXPECT_LT(header_of<ToShard>(pull).size(), limits::forwarded);
  static_assert(limits::staleness == staleness_places);
}

// Reads every message as a receiver does, each list with one element, and counts the lists that may be as
// long as they like.
class Looker : public cereal::InputArchive<Looker, cereal::AllowEmptyClassElision> {
 public:
  Looker() : InputArchive(this) {}
  std::size_t most = SIZE_MAX, each = SIZE_MAX;
  int lists = 0, endless = 0;
};
template <Plain T>
void CEREAL_LOAD_FUNCTION_NAME(Looker&, T& value) {
  value = 1;
}
template <class T>
void CEREAL_LOAD_FUNCTION_NAME(Looker& looker, cereal::SizeTag<T>& tag) {
  ++looker.lists;
  looker.endless += std::exchange(looker.most, looker.each) == SIZE_MAX ? 1 : 0;
  tag.size = 1;
}
template <class T>
void CEREAL_LOAD_FUNCTION_NAME(Looker&, cereal::BinaryData<T>&) {}
template <class T>
void CEREAL_LOAD_FUNCTION_NAME(Looker& looker, cereal::NameValuePair<T>& pair) {
  looker(pair.value);
}
template <class Enum>
void CEREAL_LOAD_FUNCTION_NAME(Looker&, UpTo<Enum>&) {}
template <Plain Number>
void CEREAL_LOAD_FUNCTION_NAME(Looker&, Positive<Number>&) {}
template <class List>
void CEREAL_LOAD_FUNCTION_NAME(Looker& looker, Bounded<List>& it) {
  const auto outer = std::pair(std::exchange(looker.most, it.most), std::exchange(looker.each, it.each));
  looker(it.value);
  std::tie(looker.most, looker.each) = outer;
}
inline void CEREAL_LOAD_FUNCTION_NAME(Looker& looker, ForPeople&) { ++looker.lists; }
template <class Number>
void CEREAL_LOAD_FUNCTION_NAME(Looker& looker, Anything<Number>& it) {
  if constexpr (!Plain<Number>) {
    const auto outer = std::pair(std::exchange(looker.most, it.most), looker.each);
    looker(it.value);
    std::tie(looker.most, looker.each) = outer;
  }
}
inline void CEREAL_LOAD_FUNCTION_NAME(Looker&, Measured&) {}
template <class T>
void CEREAL_LOAD_FUNCTION_NAME(Looker& looker, Shared<T>& it) {
  T value;
  looker(value);
  it = Shared<T>(std::move(value));
}
inline void CEREAL_LOAD_FUNCTION_NAME(Looker&, Blob&) {}

template <class Receiver, std::size_t kind = 0>
int look_at_all() {
  if constexpr (kind == std::variant_size_v<Receiver>) {
    return 0;
  } else {
    using Said = std::variant_alternative_t<kind, Receiver>;
    int lists = 0;
    if constexpr (!test::stays_home<Said>) {
      Looker looker;
      Said said;
      looker(said);
      EXPECT_EQ(looker.endless, 0) << "a list in kind " << kind << " of " << typeid(Receiver).name();
      lists = looker.lists;
    }
    return lists + look_at_all<Receiver, kind + 1>();
  }
}

TEST(Limits, EveryListOfEveryMessageHasABound) {
  const int lists = look_at_all<ToScheduler>() + look_at_all<ToShard>() + look_at_all<ToWorker>() +
                    look_at_all<ToCheckpointer>() + look_at_all<ToStandby>();
  EXPECT_GT(lists, 40);
}

}  // namespace
}  // namespace steelyard::limits_test
