#include "core/cores.h"

#include <gmock/gmock.h>
#include <sched.h>

#include <algorithm>

#include "core/processor.h"
#include "tests/support/temporary_folder.h"

namespace steelyard::cores_test {
namespace {

using testing::ElementsAre;

TEST(Cores, ThoseOfTheProcessAreListed) {
  const std::vector<unsigned> all = allowed_core_numbers();
  ASSERT_EQ(all.size(), allowed_cores());
  EXPECT_TRUE(std::ranges::is_sorted(all));
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  CPU_SET(all.back(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_THAT(allowed_core_numbers(), ElementsAre(all.back()));
  EXPECT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

// Two packages of two physical cores with two hardware threads each, numbered as Linux does.
TEST(Cores, HardwareThreadsOfACoreAndCoresOfAPackageLieTogether) {
  const TemporaryFolder folder;
  for (unsigned core = 0; core < 8; ++core) {
    const std::string place = "cpu" + std::to_string(core) + "/topology/";
    folder.write(place + "physical_package_id", std::to_string(core % 2) + "\n");
    folder.write(place + "core_id", std::to_string(core % 4 / 2) + "\n");
  }
  EXPECT_THAT(in_order_of_topology({0, 1, 2, 3, 4, 5, 6, 7}, folder.path()),
              ElementsAre(0, 4, 2, 6, 1, 5, 3, 7));
  EXPECT_THAT(in_order_of_topology({1, 4, 6, 7}, folder.path()), ElementsAre(4, 6, 1, 7));
}

TEST(Cores, WithoutATopologyTheirOrderRemains) {
  EXPECT_THAT(in_order_of_topology({3, 5, 9}, "/nowhere"), ElementsAre(3, 5, 9));
  EXPECT_THAT(in_order_of_topology({}), ElementsAre());
}

}  // namespace
}  // namespace steelyard::cores_test
