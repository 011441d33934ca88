// A remote host, with a script in place of `attend` that sends the lines of a test.
#include "app/launch/remote_host.h"

#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>

#include "core/random.h"
#include "protocol/codec.h"
#include "tests/support/complaint.h"
#include "tests/support/process_run.h"

namespace steelyard::remote_host_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAre;

const std::string last = to_line(FromHost(ProcessEnded{"ada", 7}));  // the last line of each test

class RemoteHostTest : public testing::Test {
 protected:
  RemoteHostTest() {
    folder_.write("precious.log", "mine\n");
    folder_.write("a/precious.log", "mine, too\n");
    outside_ = outside();
  }

  // The host 'ant' sends these lines on its standard output, and keeps running.
  std::unique_ptr<RemoteHost> host(const std::string& lines, const std::string& errors = "") {
    plan_.hosts.clear();
    for (const char* name : {"lion", "ant"}) plan_.hosts.emplace_back().spec.name = name;
    plan_.hosts[1].command = {"sh", "-c",
                              "cat " + folder_.write("errors", errors).string() + " >&2; cat " +
                                  folder_.write("lines", lines).string() + "; exec sleep 1000"};
    plan_.processes = {{"scheduler", "lion", Role::scheduler, {}, ""},
                       {"ada", "ant", Role::worker, {}, ""},
                       {"bob", "ant", Role::worker, {}, ""}};
    outside_ = outside();
    return std::make_unique<RemoteHost>(plan_, plan_.hosts[1], run_,
                                        [this](const std::string& text) { warnings_.push_back(text); });
  }
  // All messages that the launcher accepts, up to the last line.
  static std::vector<FromHost> all_of(RemoteHost& host) {
    std::vector<FromHost> all;
    EXPECT_TRUE(eventually([&] {
      for (FromHost& it : host.hear(steady_now())) all.push_back(std::move(it));
      return !all.empty() && to_line(all.back()) == last;
    }));
    return all;
  }
  // Everything outside the run directory: its path, and its text or the target of a link.
  [[nodiscard]] std::map<std::string, std::string> outside() const {
    std::map<std::string, std::string> all;
    for (auto it = fs::recursive_directory_iterator(folder_.path()); it != fs::end(it); ++it) {
      if (it->path() == run_.path()) it.disable_recursion_pending();
      all[it->path()] = it->is_symlink()     ? fs::read_symlink(it->path()).string()
                        : it->is_directory() ? "directory"
                                             : text_of(it->path());
    }
    return all;
  }
  [[nodiscard]] std::vector<std::string> logs() const {
    std::vector<std::string> names;
    for (const auto& it : fs::recursive_directory_iterator(run_.path() + "/log"))
      names.push_back(it.path().filename());
    return names;
  }

  const TemporaryFolder folder_;
  const RunDirectory run_ = RunDirectory::create(folder_.path("a/b/runs/run"));
  LaunchPlan plan_;
  std::vector<std::string> warnings_;
  std::map<std::string, std::string> outside_;  // when the host was started
};

TEST_F(RemoteHostTest, OutputOfItsProcessesIsAcceptedAndLogged) {
  const auto it = host("Welcome!\n" + to_line(FromHost(HostReady{protocol_version, "0.1"})) + "\n" +
                       to_line(FromHost(Said{"ada", false, "loss 3"})) + "\n" + last + "\n");
  it->tell(StartProcess{"bob", {}, ""});
  const std::vector<FromHost> all = all_of(*it);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(std::get<HostReady>(all[0]).release, "0.1");
  EXPECT_EQ(std::get<Said>(all[1]).text, "loss 3");
  EXPECT_EQ(text_of(run_.log("ada")), "loss 3\n");
  EXPECT_EQ(text_of(run_.log("host-ant")), "Welcome!\n");
  EXPECT_TRUE(fs::exists(run_.log("bob"))) << "it has printed nothing";
  EXPECT_THAT(warnings_, testing::IsEmpty());
}

TEST_F(RemoteHostTest, NamesThatEscapeTheRunDirectoryAreRefused) {
  std::string lines;
  for (const std::string& name : {std::string("../../../../escaped"), folder_.path("escaped"),
                                  std::string("../../../../precious"), std::string("../events.jsonl")}) {
    lines += to_line(FromHost(Said{name, false, "whatever"})) + "\n";
    lines += to_line(FromHost(ProcessEnded{name, 0})) + "\n";
  }
  const auto it = host(lines + last + "\n");
  EXPECT_EQ(all_of(*it).size(), 1U);
  EXPECT_EQ(outside(), outside_);
  EXPECT_TRUE(logs().empty());
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("host 'ant'")));
}

// A host cannot report on processes of other hosts, for example that their scheduler has exited.
TEST_F(RemoteHostTest, ReportsOnProcessesOfOtherHostsAreRefused) {
  const auto it = host(to_line(FromHost(ProcessEnded{"scheduler", 0})) + "\n" +
                       to_line(FromHost(Said{"scheduler", false, "well done"})) + "\n" + last + "\n");
  EXPECT_EQ(all_of(*it).size(), 1U);
  EXPECT_FALSE(fs::exists(run_.log("scheduler")));
}

// Random names, messages and garbage: no file outside the run directory appears or changes, and inside it
// only logs of this host and its processes.
TEST_F(RemoteHostTest, RandomMessagesTouchNoFileOutside) {
  const std::vector<std::string> parts{
      "..", ".",   "",      "ada",      "bob", "scheduler",          "precious", "log", "events.jsonl",
      "\n", "%2e", "~root", "host-ant", "a",   std::string(1, '\0'), "\xff",     "C:\\"};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    const auto below = [&](std::uint64_t most) { return random.below(most); };
    const auto name = [&] {
      std::string text = below(8) == 0 ? folder_.path("") : "";
      const std::uint64_t count = below(7);
      for (std::uint64_t i = 0; i <= count; ++i) text += (i > 0 ? "/" : "") + parts[below(parts.size())];
      return text;
    };
    std::string lines;
    for (int i = 0; i < 300; ++i) {
      std::string line;
      switch (below(5)) {
        case 0:
          line = to_line(FromHost(Said{name(), below(2) == 0, name()}));
          break;
        case 1:
          line = to_line(FromHost(ProcessEnded{name(), static_cast<int>(below(1 << 16))}));
          break;
        case 2:
          line = to_line(ToHost(StartProcess{name(), {name()}, name(), name()}));
          break;
        case 3:
          line =
              nlohmann::json{{"from", below(2)}, {"ended", below(2) == 0 ? "ada" : "../x"}, {"log", "../y"}}
                  .dump();
          break;
        default:
          line = to_line(FromHost(Said{name(), false, "x"}));
          line.resize(below(line.size() + 1));
      }
      lines += line + "\n";
    }
    const auto it = host(lines + last + "\n", lines);
    for (const FromHost& taken : all_of(*it)) {
      const auto* said = std::get_if<Said>(&taken);
      const auto* ended = std::get_if<ProcessEnded>(&taken);
      const std::string of = said != nullptr ? said->name : ended != nullptr ? ended->name : "ada";
      EXPECT_TRUE(of == "ada" || of == "bob") << of;
    }
    EXPECT_EQ(outside(), outside_) << "seed " << seed;
    it->leave();
  }
  EXPECT_THAT(logs(), testing::IsSubsetOf({"ada.log", "bob.log", "host-ant.log"}));
  EXPECT_THAT(logs(), testing::IsSupersetOf({"ada.log", "host-ant.log"}));
}

TEST_F(RemoteHostTest, LogsAreNotWrittenThroughLinks) {
  fs::create_symlink(folder_.path("precious.log"), run_.log("ada"));
  const auto it = host(to_line(FromHost(Said{"ada", false, "whatever"})) + "\n" + last + "\n");
  EXPECT_THAT(complaint_of([&] { all_of(*it); }), HasSubstr("symbolic link"));
  EXPECT_EQ(outside(), outside_);
}

// Error messages stay short, whatever a host sends.
TEST_F(RemoteHostTest, ALongReleaseIsTruncated) {
  const auto it = host(to_line(FromHost(HostReady{0, std::string(1'000'000, 'x')})) + "\n" + last + "\n");
  const std::string complaint = complaint_of([&] { all_of(*it); });
  EXPECT_THAT(complaint, HasSubstr("has another release (xxx"));
  EXPECT_LT(complaint.size(), 1000U);
}

}  // namespace
}  // namespace steelyard::remote_host_test
