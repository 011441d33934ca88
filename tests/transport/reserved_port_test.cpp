// A standby reserves its port before it listens there.
#include "transport/reserved_port.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/error.h"
#include "tests/support/complaint.h"
#include "transport/zmq.h"

namespace steelyard::reserved_port_test {
namespace {

std::string free_endpoint() {
  ZmqContext context;
  ZmqLink link(context, scheduler_node);
  return link.listen("tcp://127.0.0.1:*");
}

bool connects(const std::string& endpoint) {
  sockaddr_in there{};
  there.sin_family = AF_INET;
  there.sin_port = htons(static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1))));
  there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool connected = ::connect(socket, reinterpret_cast<const sockaddr*>(&there), sizeof there) == 0;
  ::close(socket);
  return connected;
}

TEST(ReservedPort, RefusesConnectionsAndOtherProgramsUntilUsed) {
  const std::string endpoint = free_endpoint();
  ReservedPort port(endpoint);
  EXPECT_FALSE(connects(endpoint));
  ZmqContext context;
  {
    ZmqLink other(context, scheduler_node);
    EXPECT_THAT(complaint_of([&] { other.listen(endpoint); }), testing::HasSubstr("another program uses it"));
  }
  EXPECT_THAT(complaint_of([&] { ReservedPort again(endpoint); }),
              testing::HasSubstr("another program uses it"));
  ZmqLink link(context, scheduler_node);
  EXPECT_EQ(link.listen(endpoint, &port), endpoint);
  EXPECT_TRUE(connects(endpoint));
}

TEST(ReservedPort, IsReleasedIfNotUsed) {
  const std::string endpoint = free_endpoint();
  { const ReservedPort port(endpoint); }
  ZmqContext context;
  ZmqLink link(context, scheduler_node);
  EXPECT_EQ(link.listen(endpoint), endpoint);
}

TEST(ReservedPort, ALinkOnAReservedPortReceivesMessages) {
  const std::string endpoint = free_endpoint();
  ReservedPort port(endpoint);
  ZmqContext context;
  ZmqLink link(context, scheduler_node), worker(context, {Role::worker, 3});
  link.listen(endpoint, &port);
  worker.connect(scheduler_node, endpoint);
  worker.send({{Role::worker, 3}, scheduler_node, Message(std::in_place_type<ToScheduler>, Ready{})});
  EXPECT_TRUE(link.receive(steady_now() + std::chrono::seconds(5)));
}

TEST(ReservedPort, OtherEndpointsReserveNothing) {
  ReservedPort port("ipc:///nowhere/socket");
  EXPECT_EQ(port.take(), -1);
}

}  // namespace
}  // namespace steelyard::reserved_port_test
