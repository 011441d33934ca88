// The table of script/plant-faults must fit the sources. The script itself is too slow to run for each
// change.
#include <gtest/gtest.h>

#include <cstdlib>

namespace steelyard::test::faults_test {
namespace {

TEST(PlantedFaults, TheTableFitsTheSources) {
  EXPECT_EQ(std::system(STEELYARD_SOURCE "/script/plant-faults --check"), 0);
}

}  // namespace
}  // namespace steelyard::test::faults_test
