#include "app/report/message_times.h"

#include <algorithm>

#include "app/report/terminal_text.h"
#include "app/report/text_table.h"

namespace steelyard {
namespace {

// Nodes are named by their role and a number.
std::string role_in(const std::string& node) { return node.substr(0, node.find('-')); }

std::string at_share(const std::vector<double>& sorted, double share) {
  return fixed(sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))], 1);
}

}  // namespace

void MessageTimes::travelled(const std::string& what, const std::string& from, const std::string& to,
                             double microseconds) {
  const std::string kind = what.substr(0, what.find(' '));
  travelled_[kind + ", " + role_in(from) + " to " + role_in(to)].push_back(microseconds);
}

void MessageTimes::handled(const std::string& what, const std::string& node, double microseconds) {
  handled_[role_in(node) + " handles " + what].push_back(microseconds);
}

std::string MessageTimes::table() const {
  std::vector<std::vector<std::string>> rows{{"microseconds", "number", "median", "90 %"}};
  for (const auto* times : {&travelled_, &handled_}) {
    for (auto [name, values] : *times) {
      std::ranges::sort(values);
      rows.push_back({name, std::to_string(values.size()), at_share(values, 0.5), at_share(values, 0.9)});
    }
  }
  std::string table;
  if (rows.size() == 1) return table;
  for (const std::string& line : aligned_lines(rows, Alignment::numbers))
    table += "  " + shown_line(line) + "\n";
  return table;
}

}  // namespace steelyard
