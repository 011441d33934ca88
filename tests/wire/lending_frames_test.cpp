#include "wire/lending_frames.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace steelyard {
namespace {

using Bytes = std::vector<std::byte>;

template <class Said>
Said there_and_back(const Bytes& frame) {
  return std::get<Said>(std::get<LendingFrame>(decode_lending(frame)));
}
bool refused(const Bytes& frame) { return std::holds_alternative<Damage>(decode_lending(frame)); }

const Introduction introduction{77, 5, {{1, 2}, 3}, Reading::possible};
const Loan loan{9, 3, 5, 64, 4096};

TEST(LendingFrames, EachIsTheSameAgain) {
  const auto first = there_and_back<Introduction>(encode_lending(introduction));
  EXPECT_EQ(first.process, 77U);
  EXPECT_EQ(first.descriptor, 5U);
  EXPECT_EQ(first.segment, introduction.segment);
  EXPECT_EQ(first.reading, Reading::possible);

  const Bytes header(10, std::byte{'h'});
  const Bytes frame = encode_lending(LentMessage{loan, header});
  const auto lent = there_and_back<LentMessage>(frame);
  EXPECT_EQ(lent.loan.lease, 9U);
  EXPECT_EQ(lent.loan.segment, 3U);
  EXPECT_EQ(lent.loan.descriptor, 5U);
  EXPECT_EQ(lent.loan.offset, 64U);
  EXPECT_EQ(lent.loan.size, 4096U);
  EXPECT_TRUE(std::ranges::equal(lent.header, header));

  EXPECT_EQ(there_and_back<Returned>(encode_lending(Returned{{1, 5, 9}})).leases,
            (std::vector<std::uint64_t>{1, 5, 9}));
}

TEST(LendingFrames, AMessagesHeaderIsNone) {
  EXPECT_FALSE(is_lending(encode(Message(std::in_place_type<ToShard>, Ping{})).header));
  EXPECT_TRUE(is_lending(encode_lending(introduction)));
  EXPECT_FALSE(is_lending({}));
}

TEST(LendingFrames, WhatIsCutOffOrTooLongIsRefused) {
  for (const LendingFrame& said : {LendingFrame(introduction), LendingFrame(Returned{{1, 2}})}) {
    const Bytes whole = encode_lending(said);
    for (std::size_t size = 0; size < whole.size(); ++size)
      EXPECT_TRUE(refused({whole.begin(), whole.begin() + static_cast<long>(size)})) << size;
    Bytes longer = whole;
    longer.push_back(std::byte{0});
    EXPECT_TRUE(refused(longer));
  }
}

TEST(LendingFrames, StrangeOnesAreRefused) {
  const Bytes good = encode_lending(introduction);
  for (const std::size_t at : {0U, 1U, 2U, 3U, 4U, 37U}) {  // mark, protocol, kind, reading
    Bytes bad = good;
    ASSERT_LT(at, bad.size());
    bad[at] = std::byte{0xff};
    EXPECT_TRUE(refused(bad)) << "byte " << at;
  }
  Bytes many = encode_lending(Returned{{1}});
  many[5] = std::byte{0xff};  // of the count
  EXPECT_TRUE(refused(many)) << "it announces more leases than it has bytes";
}

}  // namespace
}  // namespace steelyard
