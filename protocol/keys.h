// Keys: by what a process of a job is known to the others. Each has a CURVE key pair (zmq_curve(7)) of 32
// bytes each, written as 40 letters (Z85, ZeroMQ RFC 32); an allow-list says which public keys may take
// part, and as what. Who holds a key has the role that the list gives it, whatever the process itself says.
// The name in the list is for people: a process may call itself otherwise.
//
// Both are lines of text; a file may have either or both, and lines that begin with # are for people:
//
//   secret worker ada PUBLIC SECRET
//   scheduler scheduler PUBLIC
//   worker ada PUBLIC
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace steelyard {

// An endpoint with the public key of who listens there: "tcp://10.0.0.1:4711;KEY". A server tells its own so,
// and through the scheduler, whom workers know, it reaches them.
struct KeyedEndpoint {
  std::string address;
  std::string key;  // empty: none was told
};

// Where one peer may be at one of several places, with commas between them: each.
std::vector<std::string> split_places(const std::string& endpoints);
KeyedEndpoint split_key(const std::string& endpoint);
std::string with_key(const std::string& address, const std::string& key);  // as it is, where there is no key

// Whether an endpoint that a node tells of itself can be connected to, as far as its text says.

// Empty, or what is wrong with it, as half a sentence. Endpoints of other transports than TCP are taken as
// they are; whether it answers is seen later.
std::string endpoint_trouble(const std::string& endpoint);

enum class KeyRole : std::uint8_t { scheduler, server, worker };
const char* name(KeyRole role);
std::optional<KeyRole> key_role(std::string_view text);

inline constexpr std::size_t key_letters = 40;
bool is_key(std::string_view text);  // 40 letters of Z85

// Overwrites memory in a way that no compiler leaves out.
void wipe(std::string& text);

// A secret key; its memory is wiped with it. It is never part of a message to people.
class Secret {
 public:
  explicit Secret(std::string_view letters);
  ~Secret();
  Secret(const Secret&) = default;
  Secret& operator=(const Secret&) = default;
  [[nodiscard]] const char* letters() const { return letters_.data(); }  // ends with a zero

 private:
  std::array<char, key_letters + 1> letters_{};
};

struct KeyPair {
  KeyRole role;
  std::string name;  // of a node or of several, for people and files
  std::string public_key;
  Secret secret;
};

struct Allowed {
  KeyRole role;
  std::string name;
};
using AllowList = std::map<std::string, Allowed, std::less<>>;  // by public key

struct KeyLines {
  std::optional<KeyPair> own;
  AllowList allowed;
};

inline constexpr std::size_t longest_key_text = 16 << 20;  // bytes: 100,000 keys and more

// `place` is for messages, which never show what a line says. Throws Failure (configuration).
KeyLines parse_keys(std::string_view text, const std::string& place);

std::string allow_line(const std::string& public_key, const Allowed& allowed);
std::string allow_lines(const AllowList& list);
std::string secret_line(const KeyPair& pair);  // to be wiped by the caller

}  // namespace steelyard
