// ZmqContext: shared by all links of a process: libzmq's threads, and the trusted keys.
#pragma once

#include <cstdint>
#include <memory>

namespace steelyard {

class Trust;
class ZapHandler;

// Maximum number of outgoing connections of a process: each takes three of libzmq's 65,535 sockets and four
// descriptors.
inline constexpr std::uint32_t most_connections = 20'000;

class ZmqContext {
 public:
  explicit ZmqContext(int io_threads = 1);
  // Unless `trust` is null, all connections are encrypted and only allowed keys are accepted; a self-test
  // checks that an unknown key is rejected. Throws Failure (configuration) if it is not.
  ZmqContext(int io_threads, std::unique_ptr<Trust> trust);
  ~ZmqContext();  // after all its links
  ZmqContext(const ZmqContext&) = delete;
  ZmqContext& operator=(const ZmqContext&) = delete;
  [[nodiscard]] void* handle() const { return context_; }
  [[nodiscard]] const Trust* trust() const { return trust_.get(); }  // null: plain text

 private:
  void* context_;
  std::unique_ptr<Trust> trust_;
  std::unique_ptr<ZapHandler> handler_;
};

}  // namespace steelyard
