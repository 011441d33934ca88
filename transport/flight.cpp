#include "transport/flight.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>

namespace steelyard {
namespace {

// TCP_RTO_MIN_US, in microseconds: the timer is this much longer than the round trip. Debian's headers are
// older.
constexpr int timer_margin = 45;
constexpr Duration least_margin = std::chrono::milliseconds(8), usual_margin = std::chrono::milliseconds(200);
constexpr int least_of_slow_kernels = 20'000;  // whose clock ticks a hundred times a second

constexpr std::uint32_t unmeasured = ~std::uint32_t{0};

bool set(int descriptor, int option, int value) {
  return setsockopt(descriptor, IPPROTO_TCP, option, &value, sizeof value) == 0;
}

}  // namespace

std::optional<Flight> flight_of(int descriptor) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
  // Linux 4.6 is the first to have all of these.
  if (size < offsetof(tcp_info, tcpi_min_rtt) + sizeof info.tcpi_min_rtt) return std::nullopt;
  const auto round_trip = info.tcpi_min_rtt == unmeasured ? 0 : info.tcpi_min_rtt;
  return Flight{info.tcpi_unacked > 0, info.tcpi_notsent_bytes > 0, std::chrono::microseconds(round_trip),
                info.tcpi_total_retrans};
}

void expect_losses(int descriptor, const Flight& flight) {
  set(descriptor, TCP_THIN_LINEAR_TIMEOUTS, 1);
  const Duration margin = std::clamp(flight.round_trip / 4, least_margin, usual_margin);
  if (!set(descriptor, timer_margin, static_cast<int>(margin / std::chrono::microseconds(1))))
    set(descriptor, timer_margin, least_of_slow_kernels);
  (void)setsockopt(descriptor, IPPROTO_TCP, TCP_CONGESTION, "bbr", 3);
}

}  // namespace steelyard
