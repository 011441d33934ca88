#include "core/processor.h"

#include <gtest/gtest.h>
#include <sched.h>

namespace steelyard::processor_test {
namespace {

TEST(Processor, TheNameIsThatOfTheModel) {
  EXPECT_EQ(processor_name("processor\t: 0\nmodel name\t: AMD EPYC 9655\nphysical id\t: 0\n\n"
                           "processor\t: 1\nmodel name\t: AMD EPYC 9655\nphysical id\t: 0\n"),
            "AMD EPYC 9655");
  EXPECT_EQ(processor_name("model name : Some\nphysical id : 0\n\nmodel name : Some\nphysical id : 1"),
            "2 x Some");
  EXPECT_EQ(
      processor_name("processor\t: 0\nCPU part\t: 0xd08\n\nModel\t\t: Raspberry Pi 4 Model B Rev 1.4\n"),
      "Raspberry Pi 4 Model B Rev 1.4");
  EXPECT_EQ(processor_name("model\t\t: 143\n"), "unknown processor");
  EXPECT_EQ(processor_name(""), "unknown processor");
  EXPECT_EQ(processor_name("no colon\nmodel name\n"), "unknown processor");
  EXPECT_FALSE(processor_name().empty());
}

TEST(Processor, TheMachineHasAName) { EXPECT_FALSE(host_name().empty()); }

TEST(Processor, CoresAreThoseAvailableToTheProcess) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(allowed_cores(), static_cast<unsigned>(CPU_COUNT(&before)));
  CPU_ZERO(&one);
  for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core) {
    if (CPU_ISSET(core, &before)) CPU_SET(core, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(allowed_cores(), 1U);
  EXPECT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

}  // namespace
}  // namespace steelyard::processor_test
