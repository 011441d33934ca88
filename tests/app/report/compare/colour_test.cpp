// Which colour a method has, on every page.
#include "app/report/compare/chart.h"

#include <gmock/gmock.h>

#include <map>

namespace steelyard::colour_test {
namespace {

using testing::HasSubstr;
using testing::Ne;

TEST(CompareColour, DependsOnTheMethodAlone) {
  EXPECT_EQ(method_style({"lb-bsp", "bsp", ""}), "--h:75;--k:calc(140/1000);--d:calc(0/1000);--dash:none");
  EXPECT_EQ(method_style({"equal", "bsp", "box-1"}), method_style({"equal", "bsp", "box-2"}))
      << "the device alone looks the same, whichever it is";
  EXPECT_THAT(method_style({"lb-bsp", "asp", ""}), HasSubstr("--dash:2 3"));
  EXPECT_EQ(method_style({"my-own", "bsp", ""}), method_style({"my-own", "bsp", ""}));
  EXPECT_THAT(method_style({"my-own", "bsp", ""}), Ne(method_style({"my-other", "bsp", ""})));
}

// Everything that a comparison of policies and one of modes would usually hold side by side.
TEST(CompareColour, UsualMethodsDiffer) {
  std::map<std::string, std::string> seen;
  const auto add = [&](const Entrant& entrant) {
    const auto [it, is_new] = seen.try_emplace(method_style(entrant), label(entrant));
    EXPECT_TRUE(is_new) << label(entrant) << " looks like " << it->second;
  };
  std::vector<std::string> policies{"equal", "static",    "lb-bsp",    "dlb",      "lbb",
                                    "boa",   "steelyard", "omnilearn", "cannikin", "orchestra"};
  policies.emplace_back("oracle");
  for (const std::string& policy : policies) {
    for (const std::string mode : {"bsp",
                                   "flexrr",
                                   "backup:1",
                                   "ssp:1",
                                   "ssp:2",
                                   "ssp:3",
                                   "ssp:4",
                                   "ssp:8",
                                   "asp",
                                   "dc-asgd",
                                   "dc-asgd:adaptive",
                                   "nsoft:2",
                                   "nsoft:4",
                                   "ksoft:2",
                                   "ksoft:3",
                                   "eager",
                                   "local:2",
                                   "local:4",
                                   "local:8",
                                   "local:16",
                                   "oneshot:epoch",
                                   "oneshot:end",
                                   "local:4:equal"}) {
      add({policy, mode, ""});
    }
  }
  add({"equal", "bsp", "fast"});
}

}  // namespace
}  // namespace steelyard::colour_test
