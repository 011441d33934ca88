// `steelyard demo`, as users run it, but for fewer epochs.
#include "app/tools/demo_command.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/process_run.h"

namespace steelyard::demo_command_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ProcessDemo : public ProcessTest {
 protected:
  int demo(std::vector<std::string> options, const std::string& programs) {
    options.insert(options.begin(), {"demo", "--set", "train.epochs=2", "--run-dir", path("demo")});
    const std::string before = std::getenv("PATH");
    ::setenv("PATH", programs.c_str(), 1);
    const int code = run(options);
    ::setenv("PATH", before.c_str(), 1);
    return code;
  }
};

TEST_F(ProcessDemo, ComparesEqualWithBalancedSharesAndWritesThePage) {
  const std::string port = free_port();
  EXPECT_EQ(demo({"--web", ":" + port}, ""), 0) << said_;
  EXPECT_THAT(said_, AllOf(HasSubstr("equal bsp"), HasSubstr("lb-bsp bsp"), HasSubstr("steelyard bsp"),
                           HasSubstr(" alone"), HasSubstr("http://127.0.0.1:" + port + "/\n"),
                           HasSubstr("page: " + path("demo/compare.html"))));
  EXPECT_THAT(text_of(path("demo/compare.html")), HasSubstr("</html>"));
  EXPECT_THAT(text_of(path("demo/equal-bsp-1.log")), HasSubstr("watched at http://127.0.0.1:" + port));
  const auto json = nlohmann::json::parse(text_of(path("demo/compare.json")));
  for (const auto& method : json["comparisons"][0]["methods"]) {
    EXPECT_EQ(method["runs_good"], 1) << method;
    EXPECT_EQ(method["runs"][0]["samples"], 2 * 1437) << method;
  }
}

TEST_F(ProcessDemo, OpensThePageInABrowser) {
  const std::string browser = write("xdg-open", "#!/bin/sh\necho \"$1\" >" + path("opened") + "\n");
  std::filesystem::permissions(browser, std::filesystem::perms::owner_all);
  EXPECT_EQ(demo({"--open"}, path("")), 0) << said_;
  EXPECT_TRUE(eventually([&] { return text_of(path("opened")) == path("demo/compare.html") + "\n"; }));
}

TEST_F(ProcessDemo, WithoutABrowserItNamesThePage) {
  EXPECT_EQ(demo({"--open"}, path("nowhere")), 0) << said_;
  EXPECT_THAT(said_,
              AllOf(HasSubstr("xdg-open cannot be run"), HasSubstr("open " + path("demo/compare.html"))));
}

TEST_F(ProcessDemo, ThePageNeedsAPortThatIsKnownBefore) {
  EXPECT_EQ(demo({"--web", ":0"}, ""), 2);
  EXPECT_THAT(said_, HasSubstr("--web :0: give a port"));
}

}  // namespace
}  // namespace steelyard::demo_command_test
