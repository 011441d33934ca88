// Calls that are allowed only in certain places: clocks, randomness, environment, threads and the like.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "tests/tidy/source_tree.h"

namespace steelyard::test::banned_test {
namespace {

using ::testing::IsEmpty;

struct Ban {
  std::string what;  // a regular expression on code without comments and literals
  std::string why;
  std::vector<std::string> places;  // folders or files that may use it; none if empty
  bool product_only = false;
};
const std::vector<Ban> bans{
    {R"(\b(steady_clock|system_clock|high_resolution_clock|clock_gettime|gettimeofday)\b|(^|[^\w.>:])time\()",
     "state machines get the time as an argument",
     {"core/time.cpp", "core/queue.h", "app", "bindings", "transport", "worker/compute", "bench", "tests"}},
    {R"(\b(std::)?s?rand\(|\brandom_device\b|\bmt19937)",
     "use seeded randomness (core/random.h)",
     {"app/processes/processes.cpp"}},
    {R"(\bgetenv\()",
     "pass options as arguments",
     {"core/processor.cpp", "app", "bindings/c/json_object.cpp", "bench", "tests"}},
    {R"(\bstd::(recursive_|shared_|timed_)?mutex\b|\bstd::condition_variable)",
     "threads may share only a bounded queue",
     {"core", "transport/local.h", "transport/same_process.h", "transport/security/trust.h",
      "protocol/sliced_values.h", "nn/cuda", "worker/compute/parallel_engine.cpp",
      "worker/compute/own_state.h", "worker/compute/own_state.cpp", "worker/data/pictures/picture_store.h",
      "bindings", "tests", "bench"}},
    {R"(\bstd::(j?thread|async)\b)",
     "state machines have no threads",
     {"core", "app", "bindings", "worker/compute", "worker/data/pictures/picture_store.h",
      "worker/data/pictures/picture_store.cpp", "worker/data/sets/pictures.cpp", "transport/security/curve.h",
      "transport/security/curve.cpp", "tests", "bench"}},
    {R"(\bsleep_for\b|\bsleep_until\b|\bu?sleep\()",
     "do not wait by sleeping",
     {"app", "nn/cuda/device", "worker/compute/throttle.cpp", "worker/compute/polite.cpp", "tests", "bench"}},
    {R"(\bunordered_(multi)?(map|set)\b)", "their order would affect results", {}, true},
    {R"((^|[^\w_])assert\()", "use CHECK, which is active in every build", {}, true},
    {R"(\bprintf\(|\bfprintf\(|\bputs\(|\bstd::c(out|err|log)\b)",
     "state machines do not print",
     {"app", "core/check.cpp", "bench", "tests", "examples"}},
    {R"(\bsetenv\(|\bputenv\()",
     "set variables only for child processes",
     {"app/launch", "app/tools", "app/cli/command_line.cpp", "tests", "bench"}},
    {R"(\b(system|popen)\()", "do not call a shell", {}, true},
    {R"(\bstd::atomic<\s*std::(shared|weak)_ptr\b)",
     "g++ 12 does not order its load() before a later store",
     {"tests"}},
};

TEST(Banned, CallsOccurOnlyInTheirPlaces) {
  std::vector<std::string> findings;
  for (const Ban& ban : bans) {
    const std::regex pattern(ban.what);
    for (const SourceFile& file : source_tree()) {
      if (!is_code(file) || (ban.product_only && !is_product(file))) continue;
      if (std::ranges::any_of(ban.places, [&](const auto& place) { return file.under(place); })) continue;
      for (std::size_t i = 0; i < file.code.size(); ++i) {
        if (std::regex_search(file.code[i], pattern)) {
          findings.push_back(file.path + ':' + std::to_string(i + 1) + ": " + ban.why);
        }
      }
    }
  }
  EXPECT_THAT(findings, IsEmpty()) << listed(findings);
}

// Each pattern matches calls that it bans and does not match similar ones.
TEST(Banned, PatternsMatchWhatTheyBan) {
  const std::vector<std::pair<std::size_t, std::string>> caught{
      {0, "  const auto t = std::chrono::steady_clock::now();"},
      {0, "  srand(1); x = time(nullptr);"},
      {1, "int x = rand();"},
      {1, "std::random_device d;"},
      {2, "std::getenv(name)"},
      {3, "std::mutex m;"},
      {4, "std::thread t(f);"},
      {5, "std::this_thread::sleep_for(x);"},
      {6, "std::unordered_map<int, int> m;"},
      {7, "  assert(x);"},
      {8, "std::printf(x);"},
      {8, "std::cout << 1;"},
      {9, "setenv(a, b, 1);"},
      {10, "std::system(c);"},
      {11, "std::atomic<std::shared_ptr<int>> p;"}};
  for (const auto& [ban, line] : caught) {
    EXPECT_TRUE(std::regex_search(line, std::regex(bans.at(ban).what))) << line;
  }
  const std::vector<std::pair<std::size_t, std::string>> free{{0, "Duration thread_cpu_time();"},
                                                              {0, "x.time(1)"},
                                                              {1, "operand(1)"},
                                                              {7, "static_assert(x);"},
                                                              {8, "std::snprintf(text, 3, f);"},
                                                              {11, "std::shared_ptr<std::atomic<int>> p;"}};
  for (const auto& [ban, line] : free) {
    EXPECT_FALSE(std::regex_search(line, std::regex(bans.at(ban).what))) << line;
  }
}

// Marks of unfinished work, in any file. The pattern is concatenated here so that this file contains none.
TEST(Banned, NoMarksOfUnfinishedWork) {
  const std::regex marks(std::string(R"(\b(TO)") + "DO|FIX" + "ME|XX" + "X|(END)?TE" + R"(MP)\b)");
  std::vector<std::string> findings;
  for (const SourceFile& file : source_tree()) {
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      if (std::regex_search(file.lines[i], marks))
        findings.push_back(file.path + ':' + std::to_string(i + 1));
    }
  }
  EXPECT_THAT(findings, IsEmpty()) << listed(findings);
}

// No paths that exist on one machine only, and no addresses of package servers.
TEST(Banned, NoMachinePathsOrPackageServers) {
  const std::vector<std::string> places{std::string("/ho") + "me/",       std::string("/wo") + "rk/",
                                        std::string("pypi") + ".org",     std::string("deb.deb") + "ian.org",
                                        std::string("registry.") + "npm", std::string("/ro") + "ot/",
                                        std::string("crates") + ".io"};
  std::vector<std::string> findings;
  for (const SourceFile& file : source_tree()) {
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      for (const std::string& place : places) {
        if (file.lines[i].find(place) != std::string::npos) {
          findings.push_back(file.path + ':' + std::to_string(i + 1) + ": " + place);
        }
      }
    }
  }
  EXPECT_THAT(findings, IsEmpty()) << listed(findings);
}

}  // namespace
}  // namespace steelyard::test::banned_test
