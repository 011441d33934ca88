// Messages as text: the name, then all fields in order.
#include "protocol/message_text.h"

#include <gtest/gtest.h>

namespace steelyard::message_text_test {
namespace {

TEST(MessageText, HasTheNameAndAllFields) {
  const Piece piece{12, 3, Purpose::train, 1, {5, 9}, {0, 32}, {}};
  EXPECT_EQ(text_of(Message(std::in_place_type<ToWorker>, Start{7, piece, 3})),
            "Start 7 12 3 0 1 5 9 0 32 0 1 0 0 3");
  EXPECT_EQ(text_of(Message(std::in_place_type<ToScheduler>, Ready{{{8, 0.5}}, 64})),
            "Ready [ 8 0.5 ] 64 yes 0 \"\"");
  EXPECT_EQ(text_of(Message(std::in_place_type<ToWorker>, TrialTooLarge{})), "TrialTooLarge");
}

TEST(MessageText, FitsOnOneLineWithoutPayloads) {
  EXPECT_EQ(text_of(Message(std::in_place_type<ToScheduler>, Goodbye{"two\nlines"})),
            "Goodbye \"two?lines\"");
  const Blob values = Blob::copy_of(std::vector<float>(3));
  EXPECT_EQ(text_of(Message(std::in_place_type<ToScheduler>, Weights{{0, 3}, values})),
            "Weights 0 3 (12 bytes)");
}

TEST(MessageText, IncludesLocalMessages) {
  EXPECT_EQ(text_of(Message(std::in_place_type<ToScheduler>, Disconnected{{Role::worker, 5}})),
            "Disconnected 2 5");
  EXPECT_EQ(text_of(Message(std::in_place_type<ToRecorder>, Note{"word"})), "Note \"word\"");
}

}  // namespace
}  // namespace steelyard::message_text_test
