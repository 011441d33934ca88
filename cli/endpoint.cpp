#include "cli/endpoint.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <optional>

#include "core/error.h"

namespace steelyard {
namespace {

struct HostPort {
  std::string host, port;
};

HostPort split(const std::string& endpoint) {
  const std::string rest = endpoint.substr(endpoint.find("://") + 3);
  const std::size_t colon = rest.rfind(':');
  if (colon == std::string::npos) return {rest, ""};
  return {rest.substr(0, colon), rest.substr(colon + 1)};
}

// The address of this machine from which packets to `host` leave; empty if there is no way. Sends nothing.
std::string own_address_towards(const HostPort& peer) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(peer.host.c_str(), peer.port.c_str(), &hints, &found) != 0) return {};
  std::string address;
  const int socket_fd = socket(found->ai_family, found->ai_socktype, 0);
  sockaddr_in own{};
  socklen_t size = sizeof own;
  std::array<char, INET_ADDRSTRLEN> text{};
  if (socket_fd >= 0 && ::connect(socket_fd, found->ai_addr, found->ai_addrlen) == 0 &&
      getsockname(socket_fd, reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
      inet_ntop(AF_INET, &own.sin_addr, text.data(), text.size()) != nullptr) {
    address = text.data();
  }
  if (socket_fd >= 0) close(socket_fd);
  freeaddrinfo(found);
  return address;
}

// The first address of this machine that is not loopback.
std::optional<std::string> outward_address() {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return std::nullopt;
  std::optional<std::string> found;
  for (const ifaddrs* it = all; it != nullptr && !found; it = it->ifa_next) {
    if (it->ifa_addr == nullptr || it->ifa_addr->sa_family != AF_INET || (it->ifa_flags & IFF_LOOPBACK) != 0)
      continue;
    std::array<char, INET_ADDRSTRLEN> text{};
    const auto* address = reinterpret_cast<const sockaddr_in*>(it->ifa_addr);
    if (inet_ntop(AF_INET, &address->sin_addr, text.data(), text.size()) != nullptr) found = text.data();
  }
  freeifaddrs(all);
  return found;
}

}  // namespace

std::string complete_endpoint(const std::string& text) {
  std::string endpoint = text.find("://") == std::string::npos ? "tcp://" + text : text;
  const bool tcp = endpoint.starts_with("tcp://"), ipc = endpoint.starts_with("ipc://");
  const HostPort parts = split(endpoint);
  if ((!tcp && !ipc) || parts.host.empty() || (tcp && parts.port.empty())) {
    throw Failure(ExitCode::usage,
                  "'" + text + "' is no endpoint; expected host:port, tcp://host:port or ipc:///path");
  }
  return endpoint;
}

bool is_loopback(const std::string& endpoint) {
  if (endpoint.starts_with("ipc://")) return true;
  const std::string host = split(endpoint).host;
  return host.starts_with("127.") || host == "localhost" || host == "[::1]" || host == "lo";
}

void require_loopback(const std::string& endpoint, bool insecure) {
  if (insecure || is_loopback(endpoint)) return;
  throw Failure(ExitCode::configuration,
                "'" + endpoint +
                    "' can be reached from other machines, and the connection is neither encrypted nor "
                    "authenticated: add --insecure if the network is trusted, or listen on 127.0.0.1");
}

std::string reachable_endpoint(const std::string& bound, const std::string& advertise,
                               const std::string& peer) {
  if (!bound.starts_with("tcp://")) return bound;
  const HostPort parts = split(bound);
  if (!advertise.empty()) return "tcp://" + advertise + ":" + parts.port;
  if (parts.host != "0.0.0.0" && parts.host != "*" && parts.host != "[::]") return bound;
  std::string address = peer.starts_with("tcp://") ? own_address_towards(split(peer)) : "127.0.0.1";
  // The scheduler is on this machine; workers elsewhere need an address that leaves it.
  if (address.starts_with("127.")) address = outward_address().value_or(address);
  if (address.empty()) {
    throw Failure(ExitCode::configuration, "cannot find out under which address " + peer +
                                               " sees this machine: say it with --advertise HOST");
  }
  return "tcp://" + address + ":" + parts.port;
}

}  // namespace steelyard
