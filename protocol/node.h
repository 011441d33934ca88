// NodeId: the address of a node: its role and a number.
//
// A node draws its number at random when it starts. A restarted process has a new number, so it never
// receives messages to the former one. The scheduler has number 0, and so have pseudo-nodes, which are
// reachable only on the same machine.
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

// A description of the allowed names; follows the word "give" in messages.
const char* name_expected();

// Throws Failure (usage) if the name is invalid. The message has `where` ("--name"), the name (escaped, and
// truncated if long), and name_expected().
void check_name(std::string_view where, std::string_view name);

enum class Role : std::uint8_t {
  scheduler,
  shard,
  worker,
  checkpointer,  // reads and writes checkpoints; in the scheduler's process
  standby,       // a scheduler that does not lead yet
  compute,       // pseudo-node: forward and backward pass
  recorder,      // pseudo-node: output of the run
  link,          // pseudo-node: the transport itself
};

// A set of roles, such as those that may send a message (protocol/fields.h).
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
