// docs/policies.md lists the options of every policy with their defaults, as its row declares them.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "balancing/policies.h"

namespace steelyard::balancing::policies_page_test {
namespace {

using Defaults = std::map<std::string, std::string>;  // by option; empty: none

// The parts of a cell of a table: "`fine`, `rapid`" are "fine" and "rapid".
std::vector<std::string> parts(const std::string& cell) {
  static const std::regex part("[^`, ]+");
  std::vector<std::string> all;
  for (std::sregex_iterator it(cell.begin(), cell.end(), part), end; it != end; ++it)
    all.push_back(it->str());
  return all;
}

// The tables of options, by the policy in the heading above.
std::map<std::string, Defaults> tables_of_page() {
  std::ifstream page(std::filesystem::path(__FILE__).parent_path() / "../../docs/policies.md");
  static const std::regex heading("## `([a-z-]+)`"), row(R"(\| (`[^|]+`) \| ([^|]+) \|.*)");
  std::map<std::string, Defaults> tables;
  std::string line, policy;
  bool options = false;  // in a table of options
  std::smatch found;
  while (std::getline(page, line)) {
    if (line.starts_with("## ")) policy = std::regex_match(line, found, heading) ? found[1].str() : "";
    if (line.starts_with("| option |")) options = true;
    if (!line.starts_with("|")) options = false;
    if (!options || policy.empty() || !std::regex_match(line, found, row)) continue;
    const std::vector<std::string> names = parts(found[1]), defaults = parts(found[2]);
    EXPECT_EQ(names.size(), defaults.size()) << policy << ": " << line;
    for (std::size_t i = 0; i < std::min(names.size(), defaults.size()); ++i)
      tables[policy][names[i]] = defaults[i] == "-" ? "" : defaults[i];
  }
  return tables;
}

TEST(PoliciesPage, ListsTheOptionsOfEveryPolicy) {
  const std::map<std::string, Defaults> tables = tables_of_page();
  for (const auto& policy : built_in_policies()) {
    const auto found = tables.find(policy.name);
    const Defaults listed = found == tables.end() ? Defaults() : found->second;
    Defaults declared;
    for (const Option& option : policy.options) declared[option.name] = option.otherwise;
    // The defaults of these options come from the preset; the page has those of `paper`.
    for (const char* name : {"fine", "rapid", "step", "window", "guard"}) {
      const auto preset = declared.find(name);
      if (preset != declared.end() && listed.contains(name)) preset->second = listed.at(name);
    }
    EXPECT_EQ(listed, declared) << policy.name;
  }
}

}  // namespace
}  // namespace steelyard::balancing::policies_page_test
