// Every sync mode and every policy on real processes, from `steelyard compare`: each trains, and every
// position of the epoch counts once. Both lists come from the program, so new entries are tested too.
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "balancing/policies.h"
#include "tests/support/process_run.h"
#include "tests/support/sync_modes.h"

namespace steelyard::process_modes_test {
namespace {

constexpr std::uint64_t samples = 2048;

class ProcessMethods : public ProcessTest, public testing::WithParamInterface<std::string> {
 protected:
  // One epoch of eight batches for three workers, one of which is slow.
  void compare(const std::string& policy, const std::string& sync) {
    const std::string job = write("job.toml", R"([model]
name = "softmax"
[data]
name = "synthetic"
train = 2048
test = 256
[train]
batch = 256
epochs = 1
optimizer = "sgd"
lr = 0.05
[cluster]
servers = 2
[[worker]]
name = "ada"
threads = 1
[[worker]]
name = "bob"
threads = 1
[[worker]]
name = "cy"
threads = 1
simulate_slowdown = 3
)");
    ASSERT_EQ(run({"compare", job, "--policies", policy, "--sync", sync, "--run-dir", path("all")}), 0)
        << said_;
    const auto json = nlohmann::json::parse(text_of(path("all/compare.json")))["comparisons"][0];
    bool found = false;
    for (const auto& method : json["methods"]) {
      if (method["policy"] != policy || method["sync"] != sync || !method["alone"].is_null()) continue;
      found = true;
      EXPECT_EQ(method["runs_good"], 1) << method;
      EXPECT_EQ(method["runs"][0]["samples"], samples) << method;
      EXPECT_GT(method["accuracy"]["median"], 0.3) << method;
    }
    EXPECT_TRUE(found) << json;
  }
};

std::string named(const testing::TestParamInfo<std::string>& at) {
  std::string name = at.param;
  std::ranges::replace_if(
      name, [](char c) { return c == ':' || c == '-'; }, '_');
  return name;
}

// One example of each form that users may write.
std::vector<std::string> one_of_each_form() {
  std::vector<std::string> modes;
  for (const ModeEntry& entry : mode_entries())
    for (std::size_t i = 0; i < entry.forms.size(); ++i) modes.emplace_back(entry.tried.at(i));
  return modes;
}

// A mode with the name of a policy needs that policy.
class ProcessModes : public ProcessMethods {};
TEST_P(ProcessModes, TrainsEveryPositionOnce) {
  const std::vector<std::string> policies = balancing::policy_names();
  compare(std::ranges::count(policies, GetParam()) > 0 ? GetParam() : "equal", GetParam());
}
INSTANTIATE_TEST_SUITE_P(All, ProcessModes, testing::ValuesIn(one_of_each_form()), named);

class ProcessPolicies : public ProcessMethods {};
TEST_P(ProcessPolicies, TrainsEveryPositionOnce) { compare(GetParam(), "bsp"); }
INSTANTIATE_TEST_SUITE_P(All, ProcessPolicies, testing::ValuesIn(balancing::policy_names()), named);

}  // namespace
}  // namespace steelyard::process_modes_test
