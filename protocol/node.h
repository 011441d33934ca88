// NodeId: the address of a node: a role and a number that belongs to one incarnation of it.
//
// The number is drawn at random when a node starts. A restarted process has a new number, so messages to the
// former one never reach it. The scheduler has number 0, and so have pseudo-nodes, which are reached on the
// same machine only.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/fields.h"

namespace steelyard {

// Names of workers, servers, hosts and jobs. Users type them, and they appear in messages, tables, JSON and
// on the wire. A name has 1 to 64 letters, digits, '.', '_', '-', ':', '/', '@' and '+': no character that
// moves a cursor, breaks a line, or separates words.
inline constexpr std::size_t longest_name = 64;  // letters

bool valid_name(std::string_view name);

// The allowed names, to end a message that begins with "give".
const char* name_expected();

// Throws Failure (usage) with the place of the name, as in "--name", the name (made harmless, and truncated
// if long), and the allowed names.
void check_name(std::string_view where, std::string_view name);

enum class Role : std::uint8_t {
  scheduler,
  shard,
  worker,
  checkpointer,  // holds checkpoints; lives beside the scheduler
  standby,       // a scheduler that does not lead yet
  compute,       // pseudo-node: forward and backward
  recorder,      // pseudo-node: output of the run
  link,          // pseudo-node: the transport itself
};

// A set of roles: those that may send a message (protocol/fields.h).
class Roles {
 public:
  template <std::same_as<Role>... Each>
  explicit constexpr Roles(Each... roles) : bits_(((1U << static_cast<unsigned>(roles)) | ... | 0U)) {}
  [[nodiscard]] constexpr bool contain(Role role) const {
    return (bits_ & (1U << static_cast<unsigned>(role))) != 0;
  }

 private:
  unsigned bits_;
};
// Messages with `senders`. All others stay on one machine and are never accepted from a connection.
template <class Said>
concept Travels = requires {
  Said::senders;
};

struct NodeId {
  Role role = Role::scheduler;
  std::uint64_t number = 0;

  friend constexpr auto operator<=>(const NodeId&, const NodeId&) = default;
  void serialize(auto& fields) { fields(upto(role, Role::link), number); }
};

inline constexpr NodeId scheduler_node{Role::scheduler, 0};
inline constexpr NodeId compute_node{Role::compute, 0};
inline constexpr NodeId recorder_node{Role::recorder, 0};
inline constexpr NodeId link_node{Role::link, 0};

const char* name(Role role);
std::string to_string(NodeId node);  // "worker-3f2a"

}  // namespace steelyard
