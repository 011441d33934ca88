// Jobs and scenarios are distinguished by their keys.
#include "app/config/job_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/complaint.h"

namespace steelyard::file_kind_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(CompareKind, KeysDetermineTheKind) {
  EXPECT_EQ(kind_of("[model]\nname = \"mlp\"\n[[worker]]\nsimulate_slowdown = 2\n", "f"), FileKind::job);
  EXPECT_EQ(kind_of("[[worker]]\ntime_ms = [0, 1]\n", "f"), FileKind::scenario);
  EXPECT_EQ(kind_of("[network]\nstep_ms = 3\n", "f"), FileKind::scenario);
  EXPECT_EQ(kind_of("[job]\nglobal_batch = 8\n[[worker]]\nsamples_per_s = 9\n", "f"), FileKind::scenario);
  EXPECT_THAT(complaint_of([] { kind_of("[job]\nname = \"x\"\n", "f.toml"); }),
              AllOf(HasSubstr("f.toml"), HasSubstr("neither a job"), HasSubstr("help scenario")));
  EXPECT_THAT(complaint_of([] { kind_of("[network]\n[cluster]\n", "f.toml"); }),
              AllOf(HasSubstr("[network]"), HasSubstr("[cluster]"), HasSubstr("two files")));
  EXPECT_THAT(complaint_of([] { kind_of("[job\n", "f.toml"); }), HasSubstr("f.toml:1"));
}

std::string sign(const std::string& text) { return scenario_sign(JobSource(text, "a.toml", {})); }

TEST(ScenarioSign, IsAKeyThatOnlyScenariosHave) {
  EXPECT_EQ(sign("[network]\nstep_ms = 1\n"), "[network]");
  EXPECT_EQ(sign("[[event]]\nscale = 2\n"), "[[event]]");
  EXPECT_EQ(sign("[job]\nglobal_batch = 2\n"), "global_batch in [job]");
  EXPECT_EQ(sign("[[worker]]\n[[worker]]\ntime_ms = [1]\n"), "time_ms in [[worker]]");
  EXPECT_EQ(sign("[job]\nname = \"a\"\n[train]\nbatch = 2\n[[worker]]\nsimulate_slowdown = 2\n"), "");
  EXPECT_EQ(sign(""), "");
}

}  // namespace
}  // namespace steelyard::file_kind_test
