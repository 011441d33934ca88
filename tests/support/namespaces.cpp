#include "tests/support/namespaces.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>

namespace steelyard {
namespace {

bool ip(const std::string& arguments) {
  return std::system(("ip " + arguments + " >/dev/null 2>&1").c_str()) == 0;
}

bool filter(int host, const std::string& rules) {
  return ip("netns exec " + Namespaces::name(host) + " nft '" + rules + "'");
}

// 10.77.<host>.1 - 10.77.<host>.2
bool connect(int host) {
  const std::string line = "line" + std::to_string(host), net = "10.77." + std::to_string(host) + ".";
  const std::string hub = "-n " + Namespaces::name(1), leaf = "-n " + Namespaces::name(host);
  return ip(hub + " link add " + line + " type veth peer name line netns " + Namespaces::name(host)) &&
         ip(hub + " address add " + net + "1/24 dev " + line) && ip(hub + " link set " + line + " up") &&
         ip(leaf + " address add " + net + "2/24 dev line") && ip(leaf + " link set line up") &&
         ip(leaf + " route add default via " + net + "1");
}

}  // namespace

Namespaces::Namespaces() {
  for (int i = 1; i <= 3; ++i) {
    if (!ip("netns add " + name(i))) return;
    made_ = i;
    if (!ip("-n " + name(i) + " link set lo up")) return;
  }
  ready_ = connect(2) && connect(3) && filter(3, "list tables") &&
           ip("netns exec " + name(1) + " sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'");
}

Namespaces::~Namespaces() {
  for (int i = 1; i <= made_; ++i) ip("netns delete " + name(i));
}

std::string Namespaces::name(int host) {
  return "steelyard-" + std::to_string(getpid()) + "-" + std::to_string(host);
}

std::function<void()> Namespaces::enter(int host) {
  return [place = "/var/run/netns/" + name(host)] {
    if (setns(open(place.c_str(), O_RDONLY | O_CLOEXEC), CLONE_NEWNET) != 0) _exit(126);
  };
}

bool Namespaces::cut(int host) {
  return filter(host,
                "add table inet cut; add chain inet cut in { type filter hook input priority 0; }; "
                "add chain inet cut out { type filter hook output priority 0; }; "
                "add rule inet cut in drop; add rule inet cut out drop");
}

bool Namespaces::cut(int host, int port) {
  return filter(host,
                "add table inet cut; add chain inet cut out { type filter hook output priority 0; }; "
                "add rule inet cut out tcp dport " +
                    std::to_string(port) + " drop");
}

bool Namespaces::mend(int host) { return filter(host, "delete table inet cut"); }

}  // namespace steelyard
