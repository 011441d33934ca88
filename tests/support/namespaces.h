// Network namespaces that stand for hosts, with a switch between them. Making them needs root, iproute2 and
// nftables; ready() tells.
#pragma once

#include <functional>
#include <string>

namespace steelyard {

// Three hosts; the first has a line to each of the others, and passes on what they say to each other. Nothing
// of it touches the machine's own network.
class Namespaces {
 public:
  Namespaces();
  ~Namespaces();
  Namespaces(const Namespaces&) = delete;
  Namespaces& operator=(const Namespaces&) = delete;

  [[nodiscard]] bool ready() const { return ready_; }
  // Of host 1, 2 or 3. Host 1 is 10.77.2.1 to the second and 10.77.3.1 to the third, which are 10.77.2.2 and
  // 10.77.3.2 to everybody.
  [[nodiscard]] static std::string name(int host);
  // For a child that is to run there.
  [[nodiscard]] static std::function<void()> enter(int host);
  // What leaves host 2 or 3, or comes to it, is thrown away without a word, until mend(). False: not so.
  static bool cut(int host);
  // The same for what it sends to one TCP port.
  static bool cut(int host, int port);
  static bool mend(int host);

 private:
  int made_ = 0;
  bool ready_ = false;
};

inline constexpr const char* no_namespaces =
    "no right to make network namespaces, or no iproute2 or nftables; run the tests as root";

}  // namespace steelyard
