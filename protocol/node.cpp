#include "protocol/node.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/error.h"

namespace steelyard {
namespace {

bool is_good(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("._-:/@+").find(c) != std::string_view::npos;
}

// Also replaces letters of other alphabets, because truncation could leave half of one.
std::string harmless(std::string_view name) {
  std::string text(name.substr(0, longest_name));
  std::ranges::replace_if(
      text, [](char c) { return c < ' ' || c > '~'; }, '?');
  return text.size() < name.size() ? text + "..." : text;
}

}  // namespace

bool valid_name(std::string_view name) {
  return !name.empty() && name.size() <= longest_name && std::ranges::all_of(name, is_good);
}

const char* name_expected() { return "1 to 64 letters, digits and any of . _ - : / @ +"; }

void check_name(std::string_view where, std::string_view name) {
  if (valid_name(name)) return;
  throw Failure(ExitCode::usage,
                std::string(where) + " '" + harmless(name) + "'" +
                    (name.size() > longest_name ? " has " + std::to_string(name.size()) + " letters"
                                                : " is not a valid name") +
                    ": give " + name_expected());
}

const char* name(Role role) {
  static constexpr std::array names{"scheduler", "shard",   "worker",   "checkpointer",
                                    "standby",   "compute", "recorder", "link"};  // as the enumerators
  const auto place = static_cast<std::size_t>(role);
  return place < names.size() ? names[place] : "unknown";
}

std::string to_string(NodeId node) {
  std::string text = name(node.role);
  if (node.number == 0) return text;
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), node.number, 16).ptr;
  return text + '-' + std::string(digits.data(), end);
}

}  // namespace steelyard
