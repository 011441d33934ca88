// The table of script/plant-faults still fits the sources. The script itself takes too long for each change.
#include <gtest/gtest.h>

#include <cstdlib>

namespace steelyard::test::faults_test {
namespace {

TEST(PlantedFaults, EachIsInItsFileOnceAndNoBarrierIsForgotten) {
  EXPECT_EQ(std::system(STEELYARD_SOURCE "/script/plant-faults --check"), 0);
}

}  // namespace
}  // namespace steelyard::test::faults_test
