// Keys: the processes of a job authenticate each other with them. Each process has a CURVE key pair
// (zmq_curve(7)): two keys of 32 bytes, written as 40 letters each (Z85, ZeroMQ RFC 32). An allow-list has
// the public keys that may join, and their roles. The key determines the role of its process, whatever the
// process claims. The name in the list is for display; the process may use another one.
//
// Key pairs and lists are lines of text. A file may have either or both, and a key pair for each role; lines
// that begin with # are comments:
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

// An endpoint with the public key of its listener: "tcp://10.0.0.1:4711;KEY". A server announces its endpoint
// in this form, and the scheduler forwards it to the workers.
struct KeyedEndpoint {
  std::string address;
  std::string key;  // empty: not given
};

// Splits a comma-separated list of the endpoints at which a peer may be.
std::vector<std::string> split_places(const std::string& endpoints);
KeyedEndpoint split_key(const std::string& endpoint);
std::string with_key(const std::string& address, const std::string& key);  // unchanged if `key` is empty

// Checks the text of an announced endpoint. Returns what is wrong, as a clause for messages ("it has more
// than a host and a port"), or "". Endpoints other than TCP are accepted unchecked.
std::string endpoint_trouble(const std::string& endpoint);

enum class KeyRole : std::uint8_t { scheduler, server, worker };
const char* name(KeyRole role);
std::optional<KeyRole> key_role(std::string_view text);

inline constexpr std::size_t key_letters = 40;
bool is_key(std::string_view text);  // 40 letters of Z85

// Overwrites memory in a way that compilers cannot optimize out.
void wipe(std::string& text);

// A secret key. The destructor wipes its memory. It never appears in logs or errors.
class Secret {
 public:
  explicit Secret(std::string_view letters);
  ~Secret();
  Secret(const Secret&) = default;
  Secret& operator=(const Secret&) = default;
  [[nodiscard]] const char* letters() const { return letters_.data(); }  // null-terminated

 private:
  std::array<char, key_letters + 1> letters_{};
};

struct KeyPair {
  KeyRole role;
  std::string name;  // of one or more nodes, for display and file names
  std::string public_key;
  Secret secret;
};

struct Allowed {
  KeyRole role;
  std::string name;
};
using AllowList = std::map<std::string, Allowed, std::less<>>;  // by public key

struct KeyLines {
  std::vector<KeyPair> own;  // at most one for each role
  AllowList allowed;
};

inline constexpr std::size_t longest_key_text = 16 << 20;  // bytes: 100,000 keys and more

// Throws Failure (configuration), which names `place` but never shows the contents of a line.
KeyLines parse_keys(std::string_view text, const std::string& place);

std::string allow_line(const std::string& public_key, const Allowed& allowed);
std::string allow_lines(const AllowList& list);
std::string secret_line(const KeyPair& pair);  // the caller must wipe it

}  // namespace steelyard
