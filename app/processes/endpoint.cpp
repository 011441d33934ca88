#include "app/processes/endpoint.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <new>
#include <optional>

#include "app/processes/processes.h"
#include "core/error.h"
#include "core/text.h"
#include "transport/address.h"

namespace steelyard {

// The filter empties core files that are written anyway, because pipes ignore the limit. A process that lends
// memory stays readable for processes of the same user, which open the memory through /proc.
void keep_memory_closed(bool lends) {
  const int filter = open("/proc/self/coredump_filter", O_WRONLY | O_CLOEXEC);
  if (filter >= 0) {
    (void)!write(filter, "0", 1);
    close(filter);
  }
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  if (!lends) prctl(PR_SET_DUMPABLE, 0);
}

std::unique_ptr<Trust> trust_for(const std::string& keys, KeyRole role, const std::string& name, bool lends) {
  if (keys.empty()) return nullptr;
  Keys loaded = load_keys(keys, role, name);  // before the process loses access to its own /proc
  keep_memory_closed(lends);
  return std::make_unique<Trust>(std::move(loaded), speaker(steelyard::name(role), name, false));
}

void memory_check(const std::string& role, const Job& job, const std::function<void()>& work) {
  try {
    work();
  } catch (const std::bad_alloc&) {
    throw Failure(
        ExitCode::failed,
        "not enough memory for " + role + ": model '" + job.model + "' has " +
            std::to_string(job.layout.size()) + " parameters, " +
            std::to_string(job.layout.size() * sizeof(float) / 1'000'000 + 1) +
            " MB, and it holds them several times: make the model smaller, or use a larger machine");
  }
}

std::uint64_t memory_of_machine() {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

namespace {

constexpr std::size_t longest_path = sizeof(sockaddr_un::sun_path) - 1;

[[noreturn]] void refuse_endpoint(const std::string& text, const std::string& why) {
  throw Failure(ExitCode::usage, "'" + text + "' is not an endpoint: " + why);
}

std::string complete(const std::string& text, bool listens) {
  const std::string endpoint = text.find("://") == std::string::npos ? "tcp://" + text : text;
  const std::string expected = "expected host:port, tcp://host:port or ipc:///path";
  if (endpoint.starts_with("ipc://")) {
    const std::size_t letters = endpoint.size() - 6;
    if (letters == 0) refuse_endpoint(text, expected);
    if (letters <= longest_path) return endpoint;
    refuse_endpoint(text, "its path has " + std::to_string(letters) +
                              " characters, and a socket's path can have " + std::to_string(longest_path) +
                              ": choose a shorter one");
  }
  if (!endpoint.starts_with("tcp://")) refuse_endpoint(text, expected);
  const auto place = host_port(endpoint);
  if (!place) {
    const bool colons = std::ranges::count(endpoint.substr(6), ':') > 1;
    refuse_endpoint(text, colons ? "an IPv6 address needs brackets, as in [::1]:7070" : expected);
  }
  if (listens && (place->port == "*" || place->port == "0")) return "tcp://" + with_port(place->host, "*");
  const auto port = number_in<std::uint64_t>(place->port);
  if (!port || *port < 1 || *port > 65535) {
    refuse_endpoint(text, "there is no port " + place->port + ": give one from 1 to 65535" +
                              (listens ? ", or * for any free port" : ""));
  }
  return "tcp://" + with_port(place->host, place->port);
}

// The first network address of this machine that satisfies the predicate, IPv4 before IPv6.
std::optional<std::string> own_address(const std::function<bool(const ifaddrs&)>& will_do) {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return std::nullopt;
  std::optional<std::string> found;
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* it = all; it != nullptr && !found; it = it->ifa_next) {
      if (it->ifa_addr == nullptr || it->ifa_addr->sa_family != family || !will_do(*it)) continue;
      std::array<char, NI_MAXHOST> text{};
      const auto size =
          static_cast<socklen_t>(family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
      if (getnameinfo(it->ifa_addr, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0)
        found = text.data();
    }
  }
  freeifaddrs(all);
  return found;
}

// The address of this machine from which packets to `peer` leave; empty if there is no route. Sends nothing.
std::string own_address_towards(const HostPort& peer) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  const std::vector<std::string> addresses = addresses_of(peer.host);
  addrinfo* found = nullptr;
  if (addresses.empty() || getaddrinfo(addresses[0].c_str(), peer.port.c_str(), &hints, &found) != 0)
    return {};
  const int socket_fd = socket(found->ai_family, found->ai_socktype, 0);
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  auto* address = reinterpret_cast<sockaddr*>(&own);
  std::array<char, NI_MAXHOST> text{};
  if (socket_fd < 0 || ::connect(socket_fd, found->ai_addr, found->ai_addrlen) != 0 ||
      getsockname(socket_fd, address, &size) != 0 ||
      getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0) {
    text[0] = '\0';
  }
  if (socket_fd >= 0) close(socket_fd);
  freeaddrinfo(found);
  return text.data();
}

std::string without_brackets(const std::string& host) {
  const bool brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  return brackets ? host.substr(1, host.size() - 2) : host;
}

}  // namespace

std::string complete_endpoint(const std::string& text) { return complete(text, false); }

std::string scheduler_places(const std::string& text) {
  const std::size_t comma = text.find(',');
  if (comma == std::string::npos) return complete_endpoint(text);
  return complete_endpoint(text.substr(0, comma)) + ',' + scheduler_places(text.substr(comma + 1));
}

std::string listening_endpoint(const std::string& text) {
  const std::string endpoint = complete(text, true);
  auto place = host_port(endpoint);
  if (!place || is_ipv4(place->host) || is_ipv6(place->host)) return endpoint;
  if (place->host == "*") return "tcp://" + with_port("0.0.0.0", place->port);
  const std::vector<std::string> addresses = addresses_of(place->host);
  const auto interface = addresses.empty()
                             ? own_address([&](const ifaddrs& it) { return it.ifa_name == place->host; })
                             : addresses.front();
  if (!interface) {
    throw Failure(ExitCode::configuration, "cannot listen on '" + text + "': no address is known for '" +
                                               place->host +
                                               "': give an address of this machine, or * for all of them");
  }
  return "tcp://" + with_port(*interface, place->port);
}

void require_loopback(const std::string& endpoint, bool allowed) {
  if (allowed || is_loopback(endpoint)) return;
  throw Failure(
      ExitCode::configuration,
      "'" + endpoint +
          "' can be reached from other machines, and the connection is neither encrypted nor "
          "authenticated: give --keys DIR (`steelyard keys`), add --insecure if the network is trusted, or "
          "listen on 127.0.0.1");
}

std::string own_endpoint(const std::string& bound) {
  const auto place = host_port(bound);
  if (place && place->host == "0.0.0.0") return "tcp://" + with_port("127.0.0.1", place->port);
  if (place && place->host == "::") return "tcp://" + with_port("::1", place->port);
  return bound;
}

std::string reachable_endpoint(const std::string& bound, const std::string& advertise,
                               const std::string& peer) {
  const auto place = host_port(bound);
  if (!place) return bound;
  if (!advertise.empty()) {
    const std::string host = without_brackets(advertise);
    if (host.find('/') != std::string::npos || (host.find(':') != std::string::npos && !is_ipv6(host))) {
      throw Failure(ExitCode::usage, "--advertise " + advertise +
                                         ": give a host name or an address, without a port: that is " +
                                         place->port);
    }
    return "tcp://" + with_port(host, place->port);
  }
  if (place->host != "0.0.0.0" && place->host != "::") return bound;
  const auto peer_place = host_port(peer);
  std::string address = peer_place ? own_address_towards(*peer_place) : "127.0.0.1";
  // Either the scheduler is on this machine, and workers elsewhere need another address than loopback; or the
  // scheduler is reached by IPv6, and this port is IPv4.
  if (is_loopback_address(address) || (place->host == "0.0.0.0" && !is_ipv4(address))) {
    const auto outward = own_address([&](const ifaddrs& it) {
      return (it.ifa_flags & IFF_LOOPBACK) == 0 &&
             (it.ifa_addr->sa_family == AF_INET ||
              (place->host == "::" &&
               !IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(it.ifa_addr)->sin6_addr)));
    });
    if (outward) address = *outward;
  }
  if (address.empty()) {
    throw Failure(ExitCode::configuration, "cannot find out at which address " + peer +
                                               " reaches this machine: give it with --advertise HOST");
  }
  return "tcp://" + with_port(address, place->port);
}

}  // namespace steelyard
