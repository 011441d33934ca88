#include "worker/compute/local_stepper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace steelyard::final_slices_test {
namespace {

using testing::ElementsAre;

struct Posted {
  std::vector<Slice> slices{{0, 10, 0}, {10, 20, 0}, {20, 25, 1}};
  FinalSlices finals{slices};
  std::vector<std::uint32_t> posted;

  Posted() { finals.begin(); }
  void take(std::uint64_t begin, std::uint64_t end) { note(finals.take(begin, end)); }
  void take_rest() { note(finals.take_rest()); }
  void note(const std::vector<std::uint32_t>& whole) {
    posted.insert(posted.end(), whole.begin(), whole.end());
  }
};

TEST(FinalSlices, PostsCompleteSlices) {
  Posted it;
  it.take(15, 25);
  EXPECT_THAT(it.posted, ElementsAre(2));
  it.take(0, 4);
  it.take(6, 15);
  EXPECT_THAT(it.posted, ElementsAre(2, 1));
  EXPECT_THAT(it.posted, ElementsAre(2, 1)) << "in any order of its parts";
  it.take(4, 6);
  EXPECT_THAT(it.posted, ElementsAre(2, 1)) << "the last goes with the report";
  it.take_rest();
  EXPECT_THAT(it.posted, ElementsAre(2, 1, 0)) << "once each";
}

TEST(FinalSlices, TheRestIsFinalAtTheEnd) {
  Posted it;
  it.take(0, 12);
  it.take_rest();
  EXPECT_THAT(it.posted, ElementsAre(0, 2, 1));
  it.finals.begin();
  it.take_rest();
  EXPECT_THAT(it.posted, ElementsAre(0, 2, 1, 2, 1, 0)) << "a new piece begins with nothing";
}

TEST(FinalSlicesDeathTest, NothingIsFinalTwice) {
  Posted it;
  it.take(0, 10);
  EXPECT_DEATH(it.take(4, 6), "twice");
}

}  // namespace
}  // namespace steelyard::final_slices_test
