#include "transport/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

namespace steelyard {
namespace {

constexpr std::string_view tcp = "tcp://";

bool parses(int family, const std::string& host) {
  // Ignores the scope of a link-local address ("%eth0"), which is local to this machine.
  std::array<unsigned char, sizeof(in6_addr)> ignored{};
  return inet_pton(family, host.substr(0, host.find('%')).c_str(), ignored.data()) == 1;
}

}  // namespace

std::optional<HostPort> host_port(const std::string& endpoint) {
  if (!endpoint.starts_with(tcp)) return std::nullopt;
  const std::string rest = endpoint.substr(tcp.size());
  const std::size_t colon = rest.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == rest.size()) return std::nullopt;
  HostPort place{rest.substr(0, colon), rest.substr(colon + 1)};
  if (place.host.front() == '[' && place.host.back() == ']') {
    place.host = place.host.substr(1, place.host.size() - 2);
    return is_ipv6(place.host) ? std::optional(place) : std::nullopt;
  }
  return place.host.find(':') == std::string::npos ? std::optional(place) : std::nullopt;
}

std::string with_port(const std::string& host, const std::string& port) {
  const bool brackets = host.find(':') != std::string::npos;
  return (brackets ? "[" + host + "]" : host) + ":" + port;
}

bool is_ipv4(const std::string& host) { return parses(AF_INET, host); }
bool is_ipv6(const std::string& host) { return parses(AF_INET6, host); }

std::vector<std::string> addresses_of(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* all = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &all) != 0) return {};
  std::vector<std::string> ipv4, ipv6;
  for (const addrinfo* it = all; it != nullptr; it = it->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (getnameinfo(it->ai_addr, it->ai_addrlen, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0) {
      std::vector<std::string>& of_family = it->ai_family == AF_INET ? ipv4 : ipv6;
      if (std::ranges::find(of_family, text.data()) == of_family.end()) of_family.emplace_back(text.data());
    }
  }
  freeaddrinfo(all);
  return ipv4.empty() ? ipv6 : ipv4;
}

bool by_ipv6(const std::string& endpoint) {
  const auto place = host_port(endpoint);
  if (!place || is_ipv4(place->host)) return false;
  if (is_ipv6(place->host)) return true;
  const std::vector<std::string> addresses = addresses_of(place->host);
  return !addresses.empty() && is_ipv6(addresses.front());
}

bool is_loopback_address(const std::string& address) {
  in_addr ipv4{};
  if (inet_pton(AF_INET, address.c_str(), &ipv4) == 1) return (ntohl(ipv4.s_addr) >> 24) == 127;
  in6_addr ipv6{};
  if (inet_pton(AF_INET6, address.c_str(), &ipv6) != 1) return false;
  return IN6_IS_ADDR_LOOPBACK(&ipv6) || (IN6_IS_ADDR_V4MAPPED(&ipv6) && ipv6.s6_addr[12] == 127);
}

bool is_loopback(const std::string& endpoint) {
  if (endpoint.starts_with("ipc://")) return true;
  const auto place = host_port(endpoint);
  if (!place) return false;
  const std::vector<std::string> addresses = addresses_of(place->host);
  return !addresses.empty() && std::ranges::all_of(addresses, is_loopback_address);
}

}  // namespace steelyard
