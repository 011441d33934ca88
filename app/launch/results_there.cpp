#include "app/launch/results_there.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>

#include "app/config/reach.h"
#include "app/launch/pipes.h"
#include "app/report/terminal_text.h"
#include "app/report/terminal_writer.h"
#include "app/web/place.h"
#include "core/error.h"
#include "core/time.h"
#include "transport/address.h"

namespace steelyard {
namespace {

namespace fs = std::filesystem;

constexpr Duration between_looks = std::chrono::milliseconds(20);

// What the launcher, or a process that runs, has in a run directory.
constexpr const char* not_fetched[] = {"log", "lock", "journal"};

std::string note_file(const std::string& run) { return run + "/elsewhere"; }

void say(const std::string& text) { standard_error().line("steelyard: " + text); }

std::vector<std::string> packing(const std::string& directory) {
  std::vector<std::string> words{"tar", "-C", directory};
  for (const char* name : not_fetched) words.push_back("--exclude=./" + std::string(name));
  words.insert(words.end(), {"-cf", "-", "."});
  return words;
}

// Moves plain files and folders; leaves links and everything else.
void take_over(const fs::path& from, const fs::path& into) {
  for (const auto& it : fs::directory_iterator(from)) {
    const fs::path target = into / it.path().filename();
    const fs::file_status status = it.symlink_status();
    if (fs::is_directory(status)) {
      fs::create_directory(target);
      take_over(it.path(), target);
    } else if (fs::is_regular_file(status)) {
      fs::rename(it.path(), target);
    }
  }
}

// Runs `there` with its output as the input of `here`. Whether both succeed.
bool piped(const std::vector<std::string>& there, const std::vector<std::string>& here) {
  Children children;
  {
    const Pipe pipe = make_pipe();
    children.start(
        "there",
        {.path = there.front(), .arguments = {there.begin() + 1, there.end()}, .out = pipe.write.get()});
    children.start(
        "here", {.path = here.front(), .arguments = {here.begin() + 1, here.end()}, .in = pipe.read.get()});
  }
  for (bool well = true;; std::this_thread::sleep_for(between_looks)) {
    for (const Child& child : children.ended()) well &= child.status == 0;
    if (children.running() == 0) return well;
  }
}

}  // namespace

ResultsThere results_there(const LaunchHost& host, const std::string& run_directory) {
  return {host, (fs::path(host.spec.directory) / run_directory).string()};
}

std::string ResultsThere::place() const {
  return "host '" + host.spec.name + "' (" + host.reach.title + "), in " + directory;
}

std::string ResultsThere::by_hand(const std::string& into) const {
  return shell_line(host.reach.command(packing(directory))) + " | tar -C " + shell_word(into) + " -xf -";
}

void fetch(const ResultsThere& results, const RunDirectory& run) {
  const fs::path arriving = fs::path(run.path()) / ".arriving";
  const auto fail = [&](const std::string& why) {
    std::error_code ignored;
    fs::remove_all(arriving, ignored);
    throw Failure(ExitCode::io, "the results on " + results.place() + " were not brought here: " + why +
                                    "; bring them with `" + results.by_hand(run.path()) + "`");
  };
  try {
    fs::remove_all(arriving);
    fs::create_directory(arriving);
    if (!piped(results.host.reach.command(packing(results.directory)),
               {"tar", "-C", arriving.string(), "--no-same-owner", "-xf", "-"}))
      fail("tar failed on one of the sides");
    for (const char* name : not_fetched) fs::remove_all(arriving / name);
    take_over(arriving, run.path());
    fs::remove_all(arriving);
  } catch (const fs::filesystem_error& error) {
    fail(error.what());
  }
}

void note_results_there(const RunDirectory& run, const ResultsThere& results) {
  write_text(note_file(run.path()), "its results are on " + results.place() + ": bring them with `" +
                                        results.by_hand(run.path()) + "`\n");
}

void note_results_here(const RunDirectory& run) {
  std::error_code ignored;
  fs::remove(note_file(run.path()), ignored);
}

std::string note_of(const std::string& run) {
  std::error_code ignored;
  if (fs::exists(run + "/rounds.jsonl", ignored)) return "";
  const std::string text = read_text(note_file(run));
  return text.substr(0, text.find('\n'));
}

PageTunnel::PageTunnel(const LaunchHost& host, const std::string& web) {
  const HostPort place = web_place(web);
  const std::string name = "host '" + host.spec.name + "'";
  if (place.port == "0") {
    say("the page is on " + name + "; give --web a port to reach it from here");
    return;
  }
  if (!is_loopback_address(place.host)) return;  // its own address leads there
  const std::string page = "127.0.0.1:" + place.port;
  if (host.spec.ssh.empty()) {
    say("the page is on " + name + " alone, at http://" + page + "/ there: --web " +
        with_port(host.spec.address, place.port) + " opens it to other machines");
    return;
  }
  const std::vector<std::string> words{"-N",         "-T",
                                       "-o",         "BatchMode=yes",
                                       "-o",         "ExitOnForwardFailure=yes",
                                       "-o",         "ConnectTimeout=15",
                                       "-L",         page + ":" + page,
                                       host.spec.ssh};
  command_ = "ssh " + shell_line(words);
  children_.start("tunnel", {.path = "ssh", .arguments = words});
  say("http://" + page + "/ leads to the page on " + name + " while this command runs");
}

void PageTunnel::look() {
  for (const Child& child : children_.ended())
    say("http://127.0.0.1 leads to the page no longer: `" + command_ + "` " + describe_status(*child.status));
}

}  // namespace steelyard
