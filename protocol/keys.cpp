#include "protocol/keys.h"

#include <strings.h>
#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/text.h"
#include "protocol/node.h"

namespace steelyard {
namespace {

constexpr char separator = ';';  // does not occur in keys

constexpr std::string_view tcp = "tcp://";

bool is_port(std::string_view text) {
  const auto port = number_in<unsigned>(text);
  return port && *port >= 1 && *port <= 65535;
}

constexpr std::array roles{"scheduler", "server", "worker"};  // in the order of KeyRole

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return words;
    line.remove_prefix(begin);
    const std::size_t end = std::min(line.find_first_of(" \t\r"), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

// Reads role, name and public key.
struct Entry {
  KeyRole role;
  std::string name, key;
};

std::optional<Entry> entry_of(const std::vector<std::string_view>& words, std::size_t from) {
  const auto role = key_role(words[from]);
  if (!role || !valid_name(words[from + 1]) || !is_key(words[from + 2])) return std::nullopt;
  return Entry{*role, std::string(words[from + 1]), std::string(words[from + 2])};
}

// Reads a line. Returns whether it is valid.
bool take(const std::vector<std::string_view>& words, KeyLines& lines) {
  const bool secret = words.size() == 5 && words[0] == "secret";
  if (!secret && words.size() != 3) return false;
  const auto entry = entry_of(words, secret ? 1 : 0);
  if (!entry) return false;
  if (!secret) return lines.allowed.emplace(entry->key, Allowed{entry->role, entry->name}).second;
  const bool second = std::ranges::find(lines.own, entry->role, &KeyPair::role) != lines.own.end();
  if (second || !is_key(words[4])) return false;
  lines.own.push_back({entry->role, entry->name, entry->key, Secret(words[4])});
  return true;
}

}  // namespace

std::vector<std::string> split_places(const std::string& endpoints) {
  const std::size_t comma = endpoints.rfind(',');
  if (comma == std::string::npos) return {endpoints};
  std::vector<std::string> places = split_places(endpoints.substr(0, comma));
  places.push_back(endpoints.substr(comma + 1));
  return places;
}

KeyedEndpoint split_key(const std::string& endpoint) {
  const std::size_t at = endpoint.rfind(separator);
  if (at == std::string::npos || !is_key(std::string_view(endpoint).substr(at + 1))) return {endpoint, {}};
  return {endpoint.substr(0, at), endpoint.substr(at + 1)};
}

std::string with_key(const std::string& address, const std::string& key) {
  return key.empty() ? address : address + separator + key;
}

std::string endpoint_trouble(const std::string& told) {
  const std::string endpoint = split_key(told).address;
  const auto strange = [](unsigned char c) { return c <= ' ' || c == 0x7f; };
  if (std::ranges::any_of(endpoint, strange)) return "it contains blanks or control characters";
  if (!endpoint.starts_with(tcp)) return {};
  const std::string_view address = std::string_view(endpoint).substr(tcp.size());
  const std::size_t colon = address.rfind(':');
  const std::string_view host = address.substr(0, colon);
  if (host.empty() || host == "*" || host == "0.0.0.0" || host == "[::]")
    return "it is not the address of a machine";
  const bool bracketed = host.front() == '[' && host.back() == ']';
  if (!bracketed && host.find(':') != host.npos) return "it has more than a host and a port";
  if (colon != address.npos && !is_port(address.substr(colon + 1)))
    return "a port is a number from 1 to 65535";
  return {};
}

const char* name(KeyRole role) { return roles.at(static_cast<std::size_t>(role)); }

std::optional<KeyRole> key_role(std::string_view text) {
  const auto found = std::ranges::find(roles, text);
  return found == roles.end() ? std::nullopt : std::optional(static_cast<KeyRole>(found - roles.begin()));
}

bool is_key(std::string_view text) {
  constexpr std::string_view signs = ".-:+=^!/*?&<>()[]{}@%$#";
  return text.size() == key_letters && std::ranges::all_of(text, [&](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  signs.find(c) != std::string_view::npos;
         });
}

void wipe(std::string& text) {
  explicit_bzero(text.data(), text.size());
  text.clear();
}

Secret::Secret(std::string_view letters) {
  std::memcpy(letters_.data(), letters.data(), std::min(letters.size(), key_letters));
}

Secret::~Secret() { explicit_bzero(letters_.data(), letters_.size()); }

KeyLines parse_keys(std::string_view text, const std::string& place) {
  KeyLines lines;
  std::size_t number = 0;
  for_each_line(text, [&](std::string_view line) {
    ++number;
    const auto words = words_of(line);
    if (words.empty() || words[0].starts_with('#') || take(words, lines)) return;
    refuse_setup(place + ", line " + std::to_string(number) +
                 ": expected `ROLE NAME PUBLIC`, with a role of scheduler, server or worker, a name, and "
                 "a unique key of 40 letters, and at most one secret key of each role: correct it, or create "
                 "it with `steelyard keys`");
  });
  return lines;
}

std::string allow_line(const std::string& public_key, const Allowed& allowed) {
  return std::string(name(allowed.role)) + " " + allowed.name + " " + public_key;
}

std::string allow_lines(const AllowList& list) {
  std::string text;
  for (const auto& [key, allowed] : list) text += allow_line(key, allowed) + "\n";
  return text;
}

std::string secret_line(const KeyPair& pair) {
  std::string text;
  text.reserve(256);  // reallocations would leave copies of the secret behind
  text.append("secret ").append(name(pair.role)).append(" ").append(pair.name).append(" ");
  return text.append(pair.public_key).append(" ").append(pair.secret.letters()).append("\n");
}

}  // namespace steelyard
