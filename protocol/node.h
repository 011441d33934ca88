// NodeId: the address of a node, a role and a number that belongs to one incarnation of it.
//
// The number is drawn at random when a node starts. So a process that comes back has another one, and nothing
// that was sent to the old one reaches it. The scheduler has number 0; so have the pseudo-nodes, which are
// reached on the same machine only.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/fields.h"

namespace steelyard {

// What workers, servers, hosts and jobs are called: words that people type, that stand in messages, tables
// and JSON, and that travel. A name is 1 to 64 of letters, digits, '.', '_', '-', ':', '/', '@' and '+':
// nothing that moves a cursor, breaks a line, or looks like another word.
inline constexpr std::size_t longest_name = 64;  // letters

bool valid_name(std::string_view name);

// What may be given, as the end of a message that begins with "give".
const char* name_expected();

// Throws Failure (usage) that says where the name was given, as in "--name", shows the name, made harmless
// and cut where it is long, and tells what is allowed.
void check_name(std::string_view where, std::string_view name);

enum class Role : std::uint8_t {
  scheduler,
  shard,
  worker,
  checkpointer,  // holds checkpoints; lives beside the scheduler
  standby,       // a scheduler that does not lead yet
  compute,       // pseudo-node: forward and backward
  recorder,      // pseudo-node: what people see of a run
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
// Messages of other types are said on one machine only, and never believed from a wire.
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
