#include "transport/shared_memory/lending_frames.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace steelyard::lending_frames_test {
namespace {

using Bytes = std::vector<std::byte>;

template <class Content>
Content decoded(const Bytes& frame) {
  return std::get<Content>(std::get<LendingFrame>(decode_lending(frame)));
}
bool refused(const Bytes& frame) { return std::holds_alternative<Damage>(decode_lending(frame)); }

const Introduction introduction{77, 5, {{1, 2}, 3}, Reading::possible};
const Loan loan{9, 3, 5, 64, 4096};
const DevicePlace place{{1, 2, 3, 4, 5, 6, 7, 8}, 400, 40, 80};
const Introduction of_device{77, 5, {{1, 2}, 3}, Reading::possible, place, Reading::impossible};
const Loan loan_there{9, 0, 0, 0, 0, place};

TEST(LendingFrames, EachSurvivesARoundTrip) {
  const auto first = decoded<Introduction>(encode_lending(introduction));
  EXPECT_EQ(first.process, 77U);
  EXPECT_EQ(first.descriptor, 5U);
  EXPECT_EQ(first.segment, introduction.segment);
  EXPECT_EQ(first.reading, Reading::possible);

  const Bytes header(10, std::byte{'h'}), other(3, std::byte{'o'});
  const Bytes frame = encode_lending(Batch{{1, 5, 9}, {{loan, header}, {{}, other}, {{}, {}}}});
  const auto batch = decoded<Batch>(frame);
  EXPECT_EQ(batch.returned, (std::vector<std::uint64_t>{1, 5, 9}));
  ASSERT_EQ(batch.messages.size(), 3U);
  const Loan& lent = batch.messages[0].loan;
  EXPECT_EQ(lent.lease, 9U);
  EXPECT_EQ(lent.segment, 3U);
  EXPECT_EQ(lent.descriptor, 5U);
  EXPECT_EQ(lent.offset, 64U);
  EXPECT_EQ(lent.size, 4096U);
  EXPECT_TRUE(std::ranges::equal(batch.messages[0].header, header));
  EXPECT_TRUE(std::ranges::equal(batch.messages[1].header, other));
  EXPECT_TRUE(batch.messages[2].header.empty());
}

TEST(LendingFrames, PlacesOnDevicesSurviveARoundTrip) {
  const auto expect_same = [&](const DevicePlace& got) {
    EXPECT_EQ(got.memory, place.memory);
    EXPECT_EQ(got.bytes, 400U);
    EXPECT_EQ(got.offset, 40U);
    EXPECT_EQ(got.size, 80U);
  };
  const auto first = decoded<Introduction>(encode_lending(of_device));
  expect_same(first.device);
  EXPECT_EQ(first.device_reading, Reading::impossible);
  EXPECT_EQ(decoded<Introduction>(encode_lending(introduction)).device.bytes, 0U);
  const Bytes header(10, std::byte{'h'});
  const Bytes frame = encode_lending(Batch{{}, {{loan_there, header}, {loan, header}}});
  const auto batch = decoded<Batch>(frame);
  ASSERT_EQ(batch.messages.size(), 2U);
  expect_same(batch.messages[0].loan.device);
  EXPECT_EQ(batch.messages[1].loan.device.bytes, 0U);
}

TEST(LendingFrames, AMessageHeaderIsNotALendingFrame) {
  EXPECT_FALSE(is_lending(encode(Message(std::in_place_type<ToShard>, Ping{})).header));
  EXPECT_TRUE(is_lending(encode_lending(introduction)));
  EXPECT_FALSE(is_lending({}));
}

TEST(LendingFrames, TruncatedAndOverlongFramesAreRefused) {
  const Bytes header(10, std::byte{'h'});
  for (const LendingFrame& frame :
       {LendingFrame(introduction), LendingFrame(of_device), LendingFrame(Batch{{1, 2}, {{loan, header}}}),
        LendingFrame(Batch{{}, {{loan_there, header}}})}) {
    const Bytes whole = encode_lending(frame);
    for (std::size_t size = 0; size < whole.size(); ++size)
      EXPECT_TRUE(refused({whole.begin(), whole.begin() + static_cast<long>(size)})) << size;
    Bytes longer = whole;
    longer.push_back(std::byte{0});
    EXPECT_TRUE(refused(longer));
  }
}

TEST(LendingFrames, InvalidFieldsAreRefused) {
  const Bytes good = encode_lending(introduction);
  for (const std::size_t at : {0U, 1U, 2U, 3U, 4U, 37U, 46U}) {  // mark, protocol, kind, readings
    Bytes bad = good;
    ASSERT_LT(at, bad.size());
    bad[at] = std::byte{0xff};
    EXPECT_TRUE(refused(bad)) << "byte " << at;
  }
  const Bytes batch = encode_lending(Batch{{1}, {{loan, {}}}});
  for (const std::size_t at :
       {std::size_t{5}, std::size_t{17}, batch.size() - 4}) {  // leases, messages, bytes of a header
    Bytes many = batch;
    many[at] = std::byte{0xff};
    EXPECT_TRUE(refused(many)) << "byte " << at << ": it announces more bytes than it has";
  }
}

}  // namespace
}  // namespace steelyard::lending_frames_test
