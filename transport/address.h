// Hosts and ports in endpoints: "tcp://box:7070", "tcp://127.0.0.1:7070", "tcp://[::1]:7070".
//
// A name stands for its IPv4 addresses where it has any, and for its IPv6 addresses otherwise: so listening
// under a name and connecting to it mean the same.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace steelyard {

struct HostPort {
  std::string host, port;  // an IPv6 address without its brackets
};

// Of a tcp endpoint; nothing if it is another, or has no port, or an IPv6 address without brackets.
std::optional<HostPort> host_port(const std::string& endpoint);
// "box:7070", "[::1]:7070".
std::string with_port(const std::string& host, const std::string& port);

bool is_ipv4(const std::string& host);
bool is_ipv6(const std::string& host);

// Of a name, or an address itself, in numbers; asks the system, which may take as long as it likes. Empty if
// there is none.
std::vector<std::string> addresses_of(const std::string& host);

// Whether a connection to this endpoint goes by IPv6.
bool by_ipv6(const std::string& endpoint);

bool is_loopback_address(const std::string& address);  // in numbers
// Whether nobody on another machine can reach it: all addresses of its host are of the loopback, and it has
// some.
bool is_loopback(const std::string& endpoint);

}  // namespace steelyard
