// A running job, over HTTP.
#include "app/web/run_web.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <thread>

#include "app/web/http_server.h"
#include "app/web/place.h"
#include "tests/app/report/run/made_run.h"
#include "tests/support/process_run.h"
#include "tests/support/raw_http.h"

namespace steelyard::run_web_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string page_of(const RunWeb& web, const std::string& path) {
  return http_get(asked_place(web.url()), path);
}

TEST(RunWeb, ShowsTheRecordAndNewLines) {
  RunWeb web(":0");
  const MadeRun before = made_run();
  web.begin({"runs/made-1", "", before.rounds, before.events});
  EXPECT_THAT(page_of(web, "/"), AllOf(HasSubstr("Worker eighth held the others up"), HasSubstr("round 80")));
  EXPECT_THAT(page_of(web, "/page.js"), HasSubstr("const steelyard"));
  EXPECT_THAT(page_of(web, "/dygraph.js"), HasSubstr("Dygraph"));
  EXPECT_THAT(page_of(web, "/metrics"), HasSubstr("steelyard_round_seconds_count 80\n"));
  MadeRun now;
  now.next = 80;
  for (int i = 0; i < 20; ++i) now.round({"eighth", "half"}, {100, 200}, {40, 40});
  std::istringstream lines(now.rounds);
  for (std::string line; std::getline(lines, line);) web.tell(false, line);
  web.tell(true, R"({"at_ms":900,"text":"worker 'quarter' is lost"})");
  EXPECT_TRUE(
      eventually([&] { return page_of(web, "/part").find("'quarter' is lost") != std::string::npos; }));
  EXPECT_TRUE(eventually([&] {
    return page_of(web, "/metrics").find("steelyard_round_seconds_count 100\n") != std::string::npos;
  }));
  EXPECT_TRUE(eventually([&] { return page_of(web, "/status").find("round 100") != std::string::npos; }));
}

// A page is generated at most once a second, regardless of the number of requests.
TEST(RunWeb, APageIsCachedForASecond) {
  RunWeb web(":0");
  web.begin({"runs/made-1", "", "", ""});
  const std::string first = page_of(web, "/status");
  MadeRun now;
  now.round({"a"}, {1}, {1});
  const auto began = std::chrono::steady_clock::now();
  web.tell(false, now.rounds);
  const std::string second = page_of(web, "/status");
  if (std::chrono::steady_clock::now() - began < std::chrono::milliseconds(500)) {
    EXPECT_EQ(second, first);
  }
  EXPECT_TRUE(eventually([&] { return page_of(web, "/status") != first; }));
}

// The server may exit as soon as a browser has received the final state.
TEST(RunWeb, ServesTheLastStateUntilABrowserHasIt) {
  RunWeb web(":0");
  web.begin({"runs/made-1", "", made_run().rounds, ""});
  EXPECT_THAT(page_of(web, "/part"), HasSubstr("running"));
  std::jthread browser([&] {
    EXPECT_TRUE(
        eventually([&] { return page_of(web, "/part").find("75.00 % test accuracy") != std::string::npos; }));
  });
  web.finish(R"({"outcome": "finished", "accuracy": 0.75})");
  browser.join();
  EXPECT_THAT(page_of(web, "/status"), HasSubstr("\"state\": \"finished\""));
}

TEST(RunWeb, WithoutABrowserFinishDoesNotWait) {
  RunWeb web(":0");
  web.begin({"runs/made-1", "", "", ""});
  EXPECT_THAT(page_of(web, "/status"), HasSubstr("waiting"));
  web.finish(R"({"outcome": "finished"})");
  EXPECT_THAT(page_of(web, "/status"), HasSubstr("waiting"))
      << "finish() returns before the result is processed";
}

TEST(RunWeb, UnknownPathsListThePages) {
  RunWeb web(":0");
  web.begin({"runs/made-1", "", "", ""});
  const auto port = static_cast<unsigned>(std::stoul(asked_place(web.url()).port));
  EXPECT_THAT(asked(port, "GET /etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n"),
              AllOf(HasSubstr("HTTP/1.1 404"), HasSubstr("/metrics")));
}

}  // namespace
}  // namespace steelyard::run_web_test
