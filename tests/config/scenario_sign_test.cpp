#include "config/scenario_sign.h"

#include <gtest/gtest.h>

#include "config/job_source.h"

namespace steelyard {
namespace {

std::string sign(const std::string& text) { return scenario_sign(JobSource(text, "a.toml", {})); }

TEST(ScenarioSign, IsWhatOnlyScenariosHave) {
  EXPECT_EQ(sign("[network]\nstep_ms = 1\n"), "[network]");
  EXPECT_EQ(sign("[[event]]\nscale = 2\n"), "[[event]]");
  EXPECT_EQ(sign("[job]\nglobal_batch = 2\n"), "global_batch in [job]");
  EXPECT_EQ(sign("[[worker]]\n[[worker]]\ntime_ms = [1]\n"), "time_ms in [[worker]]");
  EXPECT_EQ(sign("[job]\nname = \"a\"\n[train]\nbatch = 2\n[[worker]]\nslow = 2\n"), "");
  EXPECT_EQ(sign(""), "");
}

}  // namespace
}  // namespace steelyard
