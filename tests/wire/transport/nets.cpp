#include "tests/wire/transport/nets.h"

#include <unistd.h>

#include <filesystem>
#include <map>

#include "wire/transport/local.h"
#include "wire/transport/zmq.h"

namespace steelyard::test {
namespace {

class LocalNet : public Net {
 public:
  std::unique_ptr<Link> listener(NodeId node) override { return network_.join(node); }
  std::unique_ptr<Link> caller(NodeId node, NodeId) override { return network_.join(node); }

 private:
  LocalNetwork network_;
};

class ZmqNet : public Net {
 public:
  explicit ZmqNet(bool ipc) {
    if (!ipc) return;
    std::string pattern =
        (std::filesystem::temp_directory_path() / "steelyard-nets-").string() + std::string(6, 'X');
    if (mkdtemp(pattern.data()) != nullptr) directory_ = pattern;
  }
  ~ZmqNet() override {
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }

  std::unique_ptr<Link> listener(NodeId node) override {
    auto link = std::make_unique<ZmqLink>(context_, node);
    std::string& endpoint = endpoints_[node];  // the former one, if it was there before
    if (endpoint.empty()) {
      endpoint = directory_.empty() ? "tcp://127.0.0.1:*" : "ipc://" + directory_ + '/' + to_string(node);
    }
    endpoint = link->listen(endpoint);
    return link;
  }
  std::unique_ptr<Link> caller(NodeId node, NodeId peer) override {
    auto link = std::make_unique<ZmqLink>(context_, node);
    link->connect(peer, endpoints_.at(peer));
    return link;
  }

 private:
  std::string directory_;  // of ipc
  ZmqContext context_;
  std::map<NodeId, std::string> endpoints_;
};

}  // namespace

std::unique_ptr<Net> make_net(const std::string& kind) {
  if (kind == "local") return std::make_unique<LocalNet>();
  return std::make_unique<ZmqNet>(kind == "ipc");
}

std::string unfit(const std::string& kind) {
#ifdef __SANITIZE_THREAD__
  if (kind != "local") return "the thread sanitizer cannot follow libzmq, and reports races that are none";
#endif
  return kind == "local" || kind == "tcp" || kind == "ipc" ? "" : "no such transport";
}

}  // namespace steelyard::test
