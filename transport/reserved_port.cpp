#include "transport/reserved_port.h"

#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>
#include <system_error>

#include "core/error.h"
#include "transport/address.h"

namespace steelyard {
namespace {

constexpr int backlog = 4096;  // same as libzmq's sockets (transport/zmq_socket.cpp)

[[noreturn]] void refuse(const std::string& endpoint, int error) {
  refuse_setup("cannot listen on " + endpoint + ": " + std::generic_category().message(error) +
               listening_remedy(error));
}

// Connections of a former process on this port linger for a minute and must not prevent binding. But another
// program can bind the port too while this option is set.
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
  socket_ = Descriptor(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket_.there()) refuse(endpoint, errno);
  allow_lingering(socket_.get(), true);
  if (::bind(socket_.get(), found->ai_addr, found->ai_addrlen) != 0) refuse(endpoint, errno);
  allow_lingering(socket_.get(), false);
}

int ReservedPort::take() {
  if (!socket_.there()) return -1;
  allow_lingering(socket_.get(), true);
  if (::listen(socket_.get(), backlog) != 0) refuse(endpoint_, errno);
  return socket_.release();
}

}  // namespace steelyard
