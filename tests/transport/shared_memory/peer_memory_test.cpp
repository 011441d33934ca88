#include "transport/shared_memory/peer_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace steelyard::peer_memory_test {
namespace {

std::uint32_t self() { return static_cast<std::uint32_t>(getpid()); }
std::uint32_t number(int descriptor) { return static_cast<std::uint32_t>(descriptor); }

TEST(PeerMemory, MapsEachOnceAndForgetsUnusedOnes) {
  PeerMemory memory;
  const auto one = Segment::make(100), two = Segment::make(100);
  const auto find = [&](const Segment& segment) {
    return memory.find(self(), number(segment.descriptor()), segment.name());
  };
  auto first = find(*one);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(find(*one), first);
  EXPECT_EQ(memory.size(), 1U);
  EXPECT_NE(find(*two), nullptr);
  EXPECT_EQ(memory.size(), 2U);
  const auto before = find(*two).get();
  EXPECT_EQ(find(*two).get(), before) << "must stay mapped";
  for (int i = 0; i < 20; ++i) EXPECT_NE(find(*Segment::make(100)), nullptr);
  EXPECT_LE(memory.size(), 8U);
  EXPECT_EQ(find(*one), first) << "the first is in use";
  memory.forget_unused();
  EXPECT_EQ(memory.size(), 1U);
}

}  // namespace
}  // namespace steelyard::peer_memory_test
