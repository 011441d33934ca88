#include "wire/transport/flight.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>

namespace steelyard {
namespace {

// Linux 6.15; Debian's headers are older.
constexpr int shortest_timer = 45;  // TCP_RTO_MIN_US

void set(int descriptor, int option, int value) {
  (void)setsockopt(descriptor, IPPROTO_TCP, option, &value, sizeof value);
}

}  // namespace

std::optional<Flight> flight_of(int descriptor) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
  // Linux 4.6 is the first to have all of these.
  if (size < offsetof(tcp_info, tcpi_min_rtt) + sizeof info.tcpi_min_rtt) return std::nullopt;
  return Flight{info.tcpi_unacked > 0, info.tcpi_notsent_bytes > 0,
                std::chrono::microseconds(info.tcpi_min_rtt), info.tcpi_total_retrans};
}

void expect_losses(int descriptor) {
  set(descriptor, TCP_THIN_LINEAR_TIMEOUTS, 1);
  set(descriptor, shortest_timer, 20'000);  // us
  (void)setsockopt(descriptor, IPPROTO_TCP, TCP_CONGESTION, "bbr", 3);
}

}  // namespace steelyard
