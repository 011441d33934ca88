#include "app/config/reach.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <sstream>
#include <string_view>

#include "core/error.h"

namespace steelyard {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> placeholders{"name", "address", "command"};

bool is_program(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

bool is_placeholder_character(char c) { return ('a' <= c && c <= 'z') || c == '_'; }

// Replaces each {name} by what `value` returns for it. Braces around anything else are text: ${HOME}.
std::string filled(const std::string& word, const std::function<std::string(const std::string&)>& value) {
  std::string text;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const auto begin = word.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    const auto end = word[i] == '{' ? std::find_if_not(begin, word.end(), is_placeholder_character) : begin;
    if (end == word.end() || end == begin || *end != '}') {
      text += word[i];
      continue;
    }
    const std::string name(begin, end);
    text += value(name);
    i += name.size() + 1;
  }
  return text;
}

// `command` stays, because the program is not known yet.
std::vector<std::string> filled_for(const HostSpec& host, const std::vector<std::string>& words) {
  std::vector<std::string> all;
  for (const std::string& word : words)
    all.push_back(filled(word, [&](const std::string& name) {
      return name == "name" ? host.name : name == "address" ? host.address : "{" + name + "}";
    }));
  return all;
}

// No terminal, no prompts; a lost connection is detected within a minute. The shell on the host splits the
// command into words again.
HostReach reach_by_ssh(const std::string& host) {
  return {{"ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15", "-o", "ServerAliveInterval=15",
           "-o", "ServerAliveCountMax=4", host, "{command}"},
          "ssh",
          "ssh " + host,
          "install openssh-client",
          "make `ssh -o BatchMode=yes " + host + " true` work, without a password"};
}

HostReach reach_by_namespace(const std::string& name) {
  const std::string make = "create it with `ip netns add " + name + "`";
  return {{"ip", "netns", "exec", name},
          "netns",
          "network namespace " + name,
          "install iproute2",
          "make `ip netns exec " + name + " true` work: namespaces need root",
          "/run/netns/" + name,
          "there is no network namespace '" + name + "': " + make +
              ", or correct netns = in the hosts file (`ip netns` lists them)"};
}

}  // namespace

std::vector<std::string> HostReach::command(const std::vector<std::string>& program) const {
  std::vector<std::string> all;
  bool used = false;
  for (const std::string& word : words)
    all.push_back(filled(word, [&](const std::string&) {
      used = true;
      return shell_line(program);
    }));
  if (!used) all.insert(all.end(), program.begin(), program.end());
  return all;
}

HostReach reach_of(const HostSpec& host) {
  if (!host.ssh.empty()) return reach_by_ssh(host.ssh);
  if (!host.netns.empty()) return reach_by_namespace(host.netns);
  if (host.through.empty()) return {{}, "steelyard", "this machine", "", ""};
  HostReach reach{filled_for(host, host.through), "through", "", "install it", ""};
  reach.title = shell_line(reach.words);
  reach.trial = "make `" + shell_line(reach.command({"true"})) + "` work";
  return reach;
}

std::string placeholder_trouble(const std::vector<std::string>& words) {
  std::string trouble;
  for (const std::string& word : words) {
    (void)filled(word, [&](const std::string& name) {
      if (trouble.empty() && std::ranges::find(placeholders, name) == placeholders.end())
        trouble = "unknown placeholder {" + name + "}" + among(name, placeholders);
      return std::string();
    });
  }
  return trouble;
}

std::string reach_trouble(const HostReach& reach) {
  if (reach.words.empty()) return "";
  if (!is_runnable(reach.words.front()))
    return "there is no program '" + reach.words.front() + "' on this machine: " + reach.install +
           ", or correct " + reach.key + " =";
  std::error_code ignored;
  return reach.needs.empty() || fs::exists(reach.needs, ignored) ? "" : reach.without;
}

bool is_runnable(const std::string& program) {
  if (program.find('/') != std::string::npos) return is_program(program);
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (is_program(fs::path(folder.empty() ? "." : folder) / program)) return true;
  }
  return false;
}

std::string shell_word(const std::string& text) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("@%+=:,./_-").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return text;
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_word(word);
  return line;
}

}  // namespace steelyard
