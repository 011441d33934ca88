// The hub of each worker, the neighbours of each hub, and the rounds after which hubs mix.
#include "protocol/local_steps.h"
#include "protocol/sync_mode.h"

#include <gtest/gtest.h>

namespace steelyard::hubs_test {
namespace {

TEST(Hubs, WorkersAreSpreadEvenly) {
  const Hubs hubs{3, 1};
  EXPECT_EQ(hubs.of(0), 1U);
  EXPECT_EQ(hubs.of(1), 2U);
  EXPECT_EQ(hubs.of(2), 3U);
  EXPECT_EQ(hubs.of(3), 1U);
  EXPECT_EQ(Hubs().of(3), whole_model) << "without hubs all workers train the whole model";
}

TEST(Hubs, MixAfterEveryQthRound) {
  const Hubs hubs{2, 3};
  for (const std::uint64_t round : {0, 1, 3, 4, 6}) EXPECT_FALSE(hubs.mix_after(round)) << round;
  for (const std::uint64_t round : {2, 5, 8}) EXPECT_TRUE(hubs.mix_after(round)) << round;
}

// MLL-SGD (Castiglia, Das, Patterson, ICLR 2021, section 5): complete graphs and paths of hubs.
TEST(Hubs, GraphsHaveTheirEdges) {
  for (HubNumber a = 1; a <= 5; ++a) {
    for (HubNumber b = 1; b <= 5; ++b) {
      const bool next = a + 1 == b || b + 1 == a, ends = a + 4 == b || b + 4 == a;
      EXPECT_EQ((Hubs{5, 1, Hubs::Graph::complete}.are_neighbours(a, b)), a != b);
      EXPECT_EQ((Hubs{5, 1, Hubs::Graph::line}.are_neighbours(a, b)), next) << a << b;
      EXPECT_EQ((Hubs{5, 1, Hubs::Graph::ring}.are_neighbours(a, b)), next || ends) << a << b;
    }
  }
}

}  // namespace
}  // namespace steelyard::hubs_test
