#include <filesystem>
#include <set>
#include <sstream>

#include "app/launch/remote_host.h"
#include "core/check.h"
#include "tests/fuzz/accepts.h"
#include "tests/fuzz/entry.h"
#include "tests/support/temporary_folder.h"

namespace steelyard::fuzz {
namespace {

namespace fs = std::filesystem;

LaunchPlan plan_of_two_hosts() {
  LaunchPlan plan;
  for (const char* name : {"lion", "ant"}) plan.hosts.emplace_back().spec.name = name;
  plan.processes = {{"scheduler", "lion", Role::scheduler, {}, ""}, {"ada", "ant", Role::worker, {}, ""}};
  return plan;
}

// Its run directory is some levels below a folder in which no other files are written.
struct Launcher {
  const TemporaryFolder folder;
  const RunDirectory run = RunDirectory::create(folder.path("a/b/runs/run"));
  const LaunchPlan plan = plan_of_two_hosts();

  [[nodiscard]] std::set<std::string> files() const {
    std::set<std::string> all;
    for (const auto& it : fs::recursive_directory_iterator(folder.path()))
      if (!it.is_directory()) all.insert(it.path());
    return all;
  }
};

}  // namespace

bool launcher_receives(std::span<const std::byte> lines) {
  static const Launcher launcher;
  static const std::set<std::string> allowed{launcher.run.log("ada"), launcher.run.log("host-ant")};
  HostDoor door(launcher.plan, "ant", launcher.run, [](const std::string&) {},
                {.bytes = 10'000, .lines_a_minute = 100});
  std::istringstream text{std::string(text_of(lines))};
  const Time now{from_seconds(100)};
  bool taken = false;
  for (std::string line; std::getline(text, line);) {
    const std::optional<FromHost> message = from_host(line);
    if (!message) {
      door.other(line, now);
      continue;
    }
    if (!door.take(*message, now)) continue;
    taken = true;
    const auto* output = std::get_if<Said>(&*message);
    const auto* ended = std::get_if<ProcessEnded>(&*message);
    CHECK(output == nullptr || output->name == "ada", "output of a process that does not run there");
    CHECK(ended == nullptr || ended->name == "ada", "the exit of a process that does not run there");
  }
  door.flush(now);
  for (const std::string& file : launcher.files()) CHECK(allowed.contains(file), "an unexpected file");
  return taken;
}

std::vector<std::vector<std::byte>> host_inputs() {
  std::vector<std::vector<std::byte>> inputs;
  for (const FromHost& it : {FromHost(HostReady{7, "0.1.0"}), FromHost(Said{"ada", false, "loss 3"}),
                             FromHost(ProcessEnded{"ada", 9})}) {
    const std::string line = to_line(it);
    inputs.push_back(input_of(line));
    inputs.push_back(input_of("Welcome!\n" + to_line(FromHost(Said{"../../ada", true, "x"})) + "\n" + line));
  }
  return inputs;
}

}  // namespace steelyard::fuzz
