// Hosts and ports in endpoints: "tcp://box:7070", "tcp://127.0.0.1:7070", "tcp://[::1]:7070".
//
// A host name stands for its IPv4 addresses if it has any, else for its IPv6 addresses, so listening under a
// name and connecting to it use the same address.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace steelyard {

struct HostPort {
  std::string host, port;  // an IPv6 address without its brackets
};

// Splits a tcp endpoint. Returns std::nullopt for other transports, a missing port, or an IPv6 address
// without brackets.
std::optional<HostPort> host_port(const std::string& endpoint);
// "box:7070", "[::1]:7070".
std::string with_port(const std::string& host, const std::string& port);

bool is_ipv4(const std::string& host);
bool is_ipv6(const std::string& host);

// Numeric addresses of a host name or address. Asks the system's resolver, which may block for any time.
// Returns nothing if the name has none.
std::vector<std::string> addresses_of(const std::string& host);

// Whether a connection to this endpoint uses IPv6.
bool by_ipv6(const std::string& endpoint);

bool is_loopback_address(const std::string& address);  // numeric
// Whether the endpoint is unreachable from other machines: its host has addresses, all of them loopback.
bool is_loopback(const std::string& endpoint);

}  // namespace steelyard
