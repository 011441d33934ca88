#include "protocol/node.h"

#include <array>
#include <charconv>

namespace steelyard {

const char* name(Role role) {
  switch (role) {
    case Role::scheduler:
      return "scheduler";
    case Role::shard:
      return "shard";
    case Role::worker:
      return "worker";
    case Role::checkpointer:
      return "checkpointer";
    case Role::standby:
      return "standby";
    case Role::compute:
      return "compute";
    case Role::recorder:
      return "recorder";
    case Role::link:
      return "link";
  }
  return "unknown";
}

std::string to_string(NodeId node) {
  std::string text = name(node.role);
  if (node.number == 0) return text;
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), node.number, 16).ptr;
  return text + '-' + std::string(digits.data(), end);
}

}  // namespace steelyard
