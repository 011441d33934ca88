// ZmqContext: what all links of a process share: libzmq's threads, and whom they trust.
#pragma once

#include <cstdint>
#include <memory>

namespace steelyard {

class Trust;
class ZapHandler;

// Outward connections of one process, at the most: each takes three of libzmq's sockets, of which there are
// 65,535, and four descriptors.
inline constexpr std::uint32_t most_connections = 20'000;

class ZmqContext {
 public:
  explicit ZmqContext(int io_threads = 1);
  // Unless `trust` is null, all connections are encrypted, and only who is allowed takes part; that
  // strangers are refused is tried first. Throws Failure (configuration) if they are not.
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
