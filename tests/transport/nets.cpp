#include "tests/transport/nets.h"

#include <map>

#include "protocol/keys.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/thread_sanitizer.h"
#include "tests/transport/security/keyring.h"
#include "transport/local.h"
#include "transport/zmq.h"

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
  ZmqNet(bool ipc, Memory payloads) : ipc_(ipc), payloads_(payloads) {}

  std::unique_ptr<Link> listener(NodeId node) override {
    auto link = std::make_unique<ZmqLink>(context_, node, payloads_);
    std::string& endpoint = endpoints_[node];  // reused if the node listened before
    if (endpoint.empty()) {
      endpoint = ipc_ ? "ipc://" + sockets_.path(to_string(node)) : "tcp://127.0.0.1:*";
    }
    endpoint = link->listen(endpoint);
    return link;
  }
  std::unique_ptr<Link> caller(NodeId node, NodeId peer) override {
    auto link = std::make_unique<ZmqLink>(context_, node, payloads_);
    link->connect(peer, endpoints_.at(peer));
    return link;
  }

 private:
  const bool ipc_;
  const Memory payloads_;
  const TemporaryFolder sockets_;  // for ipc
  ZmqContext context_;
  std::map<NodeId, std::string> endpoints_;
};

// One context per role, as in separate processes.
class KeyedNet : public Net {
 public:
  std::unique_ptr<Link> listener(NodeId node) override {
    auto link = std::make_unique<ZmqLink>(context_of(node), node);
    std::string& endpoint = endpoints_[node];
    const std::string key = context_of(node).trust()->own().public_key;
    endpoint =
        with_key(link->listen(endpoint.empty() ? "tcp://127.0.0.1:*" : split_key(endpoint).address), key);
    return link;
  }
  std::unique_ptr<Link> caller(NodeId node, NodeId peer) override {
    auto link = std::make_unique<ZmqLink>(context_of(node), node);
    link->connect(peer, endpoints_.at(peer));
    return link;
  }

 private:
  ZmqContext& context_of(NodeId node) {
    const KeyRole role = node.role == Role::shard    ? KeyRole::server
                         : node.role == Role::worker ? KeyRole::worker
                                                     : KeyRole::scheduler;
    auto& context = contexts_[role];
    if (!context) context = keys_.context(role);
    return *context;
  }

  const Keyring keys_;
  std::map<KeyRole, std::unique_ptr<ZmqContext>> contexts_;
  std::map<NodeId, std::string> endpoints_;
};

}  // namespace

std::unique_ptr<Net> make_net(const std::string& kind) {
  if (kind == "local") return std::make_unique<LocalNet>();
  if (kind == "keys") return std::make_unique<KeyedNet>();
  return std::make_unique<ZmqNet>(kind != "tcp", kind == "shared" ? Memory::shared : Memory::own);
}

std::string unfit(const std::string& kind) {
  if (kind != "local" && !can_use_zmq())
    return "ThreadSanitizer does not understand libzmq and reports false races";
  const bool known = kind == "local" || kind == "tcp" || kind == "keys" || kind == "ipc" || kind == "shared";
  return known ? "" : "no such transport";
}

}  // namespace steelyard::test
