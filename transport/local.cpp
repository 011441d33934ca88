#include "transport/local.h"

#include "core/check.h"
#include "protocol/machine.h"

namespace steelyard {
namespace {

// Far above the number of messages in flight. A node that falls this far behind loses messages, as over a
// network.
constexpr std::size_t mailbox_capacity = 1 << 16;

}  // namespace

class LocalLink : public Link {
 public:
  LocalLink(LocalNetwork& network, NodeId self, std::shared_ptr<LocalNetwork::Mail> mail)
      : network_(network), self_(self), mail_(std::move(mail)) {}
  ~LocalLink() override { network_.leave(self_); }

  void connect(NodeId, const std::string&) override {}
  void disconnect(NodeId) override {}
  void send(Envelope envelope) override { network_.deliver(std::move(envelope)); }
  std::optional<Envelope> receive(Time deadline) override { return mail_->pop(deadline); }
  void post(std::vector<Envelope> envelopes) override {
    for (Envelope& envelope : envelopes) mail_->try_push(std::move(envelope));
  }

 private:
  LocalNetwork& network_;
  const NodeId self_;
  const std::shared_ptr<LocalNetwork::Mail> mail_;
};

std::unique_ptr<Link> LocalNetwork::join(NodeId node) {
  auto mail = std::make_shared<Mail>(mailbox_capacity);
  const std::lock_guard lock(mutex_);
  CHECK(mail_.emplace(node, mail).second, "two nodes of one network have the same name");
  return std::make_unique<LocalLink>(*this, node, std::move(mail));
}

void LocalNetwork::deliver(Envelope envelope) {
  std::shared_ptr<Mail> mail;
  {
    const std::lock_guard lock(mutex_);
    const auto found = mail_.find(envelope.to);
    if (found != mail_.end()) mail = found->second;
  }
  if (mail) mail->try_push(std::move(envelope));
}

void LocalNetwork::leave(NodeId node) {
  const std::lock_guard lock(mutex_);
  mail_.erase(node);
  for (const auto& [other, mail] : mail_) {
    if (auto notice = notice_for(other, Disconnected{node})) mail->try_push(std::move(*notice));
  }
}

}  // namespace steelyard
