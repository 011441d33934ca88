#include "transport/direct/direct_frames.h"

#include <gtest/gtest.h>

#include "transport/nudges.h"
#include "transport/shared_memory/lending_frames.h"

namespace steelyard::direct_frames_test {
namespace {

using Bytes = std::vector<std::byte>;

bool refused(const Bytes& frame) { return std::holds_alternative<Damage>(decode_direct(frame)); }

TEST(DirectFrames, EachSurvivesARoundTrip) {
  const auto request = std::get<DirectFrame>(decode_direct(encode_direct(DirectRequest{})));
  EXPECT_TRUE(std::holds_alternative<DirectRequest>(request));
  const auto answer = std::get<DirectFrame>(decode_direct(encode_direct(DirectAnswer{{1, 2}, {3, 4}})));
  EXPECT_EQ(std::get<DirectAnswer>(answer).place, (DirectName{1, 2}));
  EXPECT_EQ(std::get<DirectAnswer>(answer).ticket, (DirectName{3, 4}));
}

TEST(DirectFrames, OtherFramesAreNotDirectFrames) {
  EXPECT_TRUE(is_direct_frame(encode_direct(DirectRequest{})));
  EXPECT_FALSE(is_direct_frame(encode(Message(std::in_place_type<ToShard>, Ping{})).header));
  EXPECT_FALSE(is_direct_frame(encode_lending(Introduction{})));
  EXPECT_FALSE(is_direct_frame(nudge_frame().header));
  EXPECT_FALSE(is_direct_frame({}));
}

TEST(DirectFrames, TruncatedOverlongAndUnknownFramesAreRefused) {
  for (const DirectFrame& frame : {DirectFrame(DirectRequest{}), DirectFrame(DirectAnswer{{1, 2}, {3, 4}})}) {
    const Bytes whole = encode_direct(frame);
    for (std::size_t size = 0; size < whole.size(); ++size)
      EXPECT_TRUE(refused({whole.begin(), whole.begin() + static_cast<long>(size)})) << size;
    Bytes longer = whole;
    longer.push_back(std::byte{0});
    EXPECT_TRUE(refused(longer));
    Bytes other = whole;
    other[2] ^= std::byte{1};
    EXPECT_TRUE(refused(other)) << "of another protocol";
  }
  Bytes unknown = encode_direct(DirectRequest{});
  unknown[4] = std::byte{2};
  EXPECT_TRUE(refused(unknown));
}

}  // namespace
}  // namespace steelyard::direct_frames_test
