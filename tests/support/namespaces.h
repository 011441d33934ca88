// Network namespaces that represent hosts. They need root, iproute2 and nftables; ready() is false without
// them.
#pragma once

#include <functional>
#include <string>

namespace steelyard {

// Three hosts; the first is connected to both others, and forwards packets between them. The machine's own
// network is not changed.
class Namespaces {
 public:
  Namespaces();
  ~Namespaces();
  Namespaces(const Namespaces&) = delete;
  Namespaces& operator=(const Namespaces&) = delete;

  [[nodiscard]] bool ready() const { return ready_; }
  // The namespace of host 1, 2 or 3. Host 1 has the address 10.77.2.1 for host 2 and 10.77.3.1 for host 3.
  // Their own addresses are 10.77.2.2 and 10.77.3.2.
  [[nodiscard]] static std::string name(int host);
  // A function that moves a child process there.
  [[nodiscard]] static std::function<void()> enter(int host);
  // Silently drops all packets from and to host 2 or 3, until mend(). Returns false on failure.
  static bool cut(int host);
  // The same for packets that it sends to one TCP port.
  static bool cut(int host, int port);
  static bool mend(int host);

 private:
  int made_ = 0;
  bool ready_ = false;
};

inline constexpr const char* no_namespaces =
    "cannot create network namespaces: run the tests as root, with iproute2 and nftables installed";

}  // namespace steelyard
