#include "app/hosts/installation.h"

#include <sys/utsname.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "app/hosts/errands.h"
#include "app/hosts/install_scripts.h"
#include "app/launch/launch_host.h"
#include "app/report/output_file.h"
#include "app/report/terminal_text.h"
#include "app/report/terminal_writer.h"
#include "core/error.h"
#include "core/text.h"

namespace steelyard {
namespace {

namespace fs = std::filesystem;

const std::string program_in_prefix = "/bin/steelyard";

// A host that gets the program.
struct Target {
  HostSpec spec;
  HostReach reach;
  HostAnswers there{};
  bool done = false;  // it failed, or has the package

  [[nodiscard]] std::string start() const { return "host '" + spec.name + "': "; }
};

std::vector<std::string> shell(const std::string& script, const std::vector<std::string>& arguments) {
  std::vector<std::string> words{"sh", "-c", script, "sh"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

std::string value_in(const HostAnswers& answers, const std::string& key) {
  const auto found = answers.find(key);
  return found == answers.end() ? "" : found->second;
}

// "2.36" -> 36, the number that glibc counts up.
int minor_of(const std::string& glibc) {
  const std::size_t dot = glibc.find('.');
  return dot == std::string::npos ? 0 : number_in<int>(glibc.substr(dot + 1)).value_or(0);
}

std::string machine_here() {  // as `uname -sm`
  utsname here{};
  uname(&here);
  return std::string(here.sysname) + " " + here.machine;
}

std::string megabytes(const std::string& file) {
  return fixed(static_cast<double>(fs::file_size(file)) / 1e6, 1) + " MB";
}

// A folder that is removed with this.
struct Folder {
  Folder() {
    if (mkdtemp(path.data()) != nullptr) return;
    throw Failure(ExitCode::io, "cannot make a folder in " + fs::temp_directory_path().string() +
                                    ": set TMPDIR to one with room");
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string path = (fs::temp_directory_path() / "steelyard-package-XXXXXX").string();
};

class Installation {
 public:
  explicit Installation(const HostsFile& hosts) {
    for (const HostSpec& spec : hosts.hosts) {
      if (spec.has_our_files()) {
        say("host '" + spec.name + "': has the files of this machine, and so this program");
        continue;
      }
      const HostReach reach = reach_of(spec);
      const auto same = std::ranges::find_if(targets_, [&](const Target& it) {
        return it.reach.words == reach.words && prefix_on(it.spec) == prefix_on(spec);
      });
      if (same == targets_.end()) {
        targets_.push_back({spec, reach});
      } else {
        say("host '" + spec.name + "': is reached as host '" + same->spec.name + "'");
      }
    }
  }

  int run() {
    Package package;
    package.machine = machine_here();
    look(package);
    if (!std::ranges::all_of(targets_, &Target::done)) {
      const Folder folder;
      package = pack(folder.path);
      check(package);
      copy(package);
    }
    return static_cast<int>(code_.value_or(ExitCode::ok));
  }

 private:
  static void say(const std::string& line) {
    std::printf("%s\n", shown_line(line).c_str());
    std::fflush(stdout);
  }
  void fail(Target& target, ExitCode code, const std::string& why) {
    target.done = true;
    if (!code_) code_ = code;
    standard_error().line("steelyard: " + target.start() + shown_line(why));
  }

  // Runs a script on all hosts that are not done; `take` gets each that has succeeded.
  void on_all(const std::string& script, const Package& package, const auto& take) {
    std::vector<Errand> errands;
    for (Target& it : targets_) {
      if (it.done) continue;
      const std::string known = value_in(it.there, "prefix");
      const std::string prefix = known.empty() ? prefix_on(it.spec) : known;
      errands.push_back(
          {it.spec.name, it.reach.command(shell(script, {prefix, package.digest})), package.archive});
    }
    run_all(errands);
    for (const Errand& errand : errands) {
      Target& it = *std::ranges::find(targets_, errand.name, [](const Target& t) { return t.spec.name; });
      if (errand.went_well()) {
        take(it, errand.output);
        continue;
      }
      const bool there = !it.there.empty();
      const std::string trial = there || it.reach.trial.empty() ? "" : ": " + it.reach.trial;
      fail(it, there ? ExitCode::configuration : ExitCode::unreachable,
           (there ? "nothing was installed: " : it.reach.title + ": ") + errand.said() + trial);
    }
  }

  void look(const Package& package) {
    for (Target& it : targets_) {
      const std::string trouble = reach_trouble(it.reach);
      if (!trouble.empty()) fail(it, ExitCode::configuration, trouble);
    }
    on_all(look_script, package, [&](Target& it, const std::string& output) {
      it.there = answers_in(output);
      const std::string trouble = trouble_with(it.there, package);
      if (!trouble.empty()) fail(it, ExitCode::configuration, trouble);
    });
  }

  // Compares the hosts with the package, once that is made.
  void check(const Package& package) {
    for (Target& it : targets_) {
      if (it.done) continue;
      const std::string trouble = trouble_with(it.there, package);
      if (!trouble.empty()) fail(it, ExitCode::configuration, trouble);
      if (value_in(it.there, "present") != "../lib/steelyard-" + package.digest + "/steelyard/bin/steelyard")
        continue;
      it.done = true;
      say(it.start() + "has it already, in " + value_in(it.there, "prefix"));
      mention_path(it);
    }
  }

  void copy(const Package& package) {
    on_all(install_script, package, [&](Target& it, const std::string& output) {
      const std::string version = output.substr(0, output.find('\n'));
      say(it.start() + "installed in " + value_in(it.there, "prefix") + " (" + megabytes(package.archive) +
          " sent): " + version);
      mention_path(it);
    });
  }

  // Another program that `launch` would find first.
  static void mention_path(const Target& it) {
    const std::string found = value_in(it.there, "found"),
                      own = value_in(it.there, "prefix") + program_in_prefix;
    if (it.spec.steelyard.find('/') != std::string::npos || found.empty() || found == own) return;
    standard_error().line("steelyard: " + it.start() + "its PATH has " + shown_line(found) +
                          " first: add steelyard = \"" + shown_line(own) +
                          "\" to this host in the hosts file");
  }

  std::vector<Target> targets_;
  std::optional<ExitCode> code_;
};

}  // namespace

Package pack(const std::string& folder) {
  Package package;
  package.archive = folder + "/package.tar.gz";
  const std::string self = fs::read_symlink("/proc/self/exe").string();
  std::vector<Errand> errand{{"pack", shell(pack_script, {self, folder})}};
  run_all(errand);
  if (!errand.front().went_well() || !fs::exists(package.archive)) {
    refuse_setup("this program cannot be packed: " + errand.front().said() +
                 ": install tar, gzip and ldd, or set TMPDIR to a folder with room");
  }
  const HostAnswers answers = answers_in(errand.front().output);
  package.digest = value_in(answers, "digest");
  package.glibc = value_in(answers, "glibc");
  package.machine = machine_here();
  return package;
}

std::string prefix_on(const HostSpec& host) {
  const std::string& program = host.steelyard;
  if (program.find('/') == std::string::npos) return "";
  if (!program.ends_with(program_in_prefix)) {
    refuse_setup("host '" + host.name +
                 "': install puts the program into PREFIX/bin/steelyard, and steelyard = \"" + program +
                 "\" does not end so: correct it in the hosts file");
  }
  const std::string prefix = program.substr(0, program.size() - program_in_prefix.size());
  return prefix.empty() ? "/" : prefix;
}

HostAnswers answers_in(const std::string& output) {
  HostAnswers answers;
  for_each_line(output, [&](std::string_view line) {
    const std::size_t equals = line.find('=');
    if (equals != std::string_view::npos)
      answers[std::string(line.substr(0, equals))] = std::string(line.substr(equals + 1));
  });
  return answers;
}

std::string trouble_with(const HostAnswers& there, const Package& package) {
  const auto value = [&](const char* key) { return value_in(there, key); };
  if (const std::string machine = value("machine"); machine != package.machine) {
    return "it is " + machine + ", and this program is for " + package.machine +
           ": build it there (script/build), or run this command on such a machine";
  }
  const std::string glibc = value("glibc");
  if (minor_of(glibc) < minor_of(package.glibc)) {
    return (glibc.empty() ? "it has no glibc" : "it has glibc " + glibc) + ", and this program needs glibc " +
           package.glibc +
           ": run this command from a wheel or tarball, which need 2.34, or upgrade that machine";
  }
  if (const std::string tool = value("without"); !tool.empty()) return "it has no " + tool + ": install it";
  if (const std::string closed = value("closed"); !closed.empty())
    return "nothing can be written into " + closed +
           ": give steelyard = \"PREFIX/bin/steelyard\" with another";
  if (const std::string other = value("other"); !other.empty())
    return other + " is not a link of this command: remove it, or give steelyard = \"PREFIX/bin/steelyard\"";
  return "";
}

int run_install(const InstallCommand& command) {
  return Installation(read_hosts_file(command.hosts_file)).run();
}

}  // namespace steelyard
