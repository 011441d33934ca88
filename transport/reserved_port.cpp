#include "transport/reserved_port.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "transport/address.h"

namespace steelyard {
namespace {

constexpr int backlog = 4096;  // as of the sockets of libzmq (transport/zmq_socket.cpp)

[[noreturn]] void refuse(const std::string& endpoint, int error) {
  throw Failure(ExitCode::configuration, "cannot listen on " + endpoint + ": " +
                                             std::generic_category().message(error) +
                                             listening_remedy(error));
}

// Connections of a former process at this port linger for a minute; they are no reason to refuse it. But only
// while this is set may another program bind the port too.
void allow_lingering(int socket, bool allowed) {
  const int value = allowed ? 1 : 0;
  (void)setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &value, sizeof value);
}

}  // namespace

std::string listening_remedy(int error) {
  if (error == EADDRINUSE) return "; another program uses it: choose another port, or :* for any";
  if (error == EADDRNOTAVAIL || error == ENODEV)
    return "; this machine has no such address: give one of its own, or * for all";
  return "; expected tcp://address:port or ipc://path";
}

ReservedPort::ReservedPort(const std::string& endpoint) : endpoint_(endpoint) {
  const auto place = host_port(endpoint);
  if (!place) return;
  addrinfo hints{};
  hints.ai_family = by_ipv6(endpoint) ? AF_INET6 : AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const char* host = place->host == "*" ? nullptr : place->host.c_str();
  if (getaddrinfo(host, place->port.c_str(), &hints, &found) != 0 || found == nullptr)
    refuse(endpoint, EADDRNOTAVAIL);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> address(found, freeaddrinfo);
  socket_ = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket_ < 0) refuse(endpoint, errno);
  allow_lingering(socket_, true);
  if (::bind(socket_, found->ai_addr, found->ai_addrlen) != 0) {
    const int error = errno;
    ::close(std::exchange(socket_, -1));
    refuse(endpoint, error);
  }
  allow_lingering(socket_, false);
}

ReservedPort::~ReservedPort() {
  if (socket_ >= 0) ::close(socket_);
}

int ReservedPort::take() {
  if (socket_ < 0) return -1;
  allow_lingering(socket_, true);
  if (::listen(socket_, backlog) != 0) refuse(endpoint_, errno);
  return std::exchange(socket_, -1);
}

}  // namespace steelyard
