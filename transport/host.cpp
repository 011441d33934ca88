#include "transport/host.h"

#include "core/error.h"
#include "protocol/notice.h"

namespace steelyard {
namespace {

// The endpoint came over the wire: one that makes no sense is a peer that cannot be reached, and the machine
// hears so.
void connect(Link& link, NodeId self, const Connect& order) {
  try {
    link.connect(order.node, order.endpoint);
  } catch (const Failure& failure) {
    if (auto notice = notice_for(self, Unreachable{order.node, order.endpoint, failure.what()}))
      link.post({std::move(*notice)});
  }
}

}  // namespace

void deliver(Link& link, const LocalDelivery& local, std::vector<Envelope> said) {
  for (Envelope& envelope : said) {
    if (const auto* order = std::get_if<ToLink>(&envelope.message)) {
      std::visit(Overloaded{
                     [&](const Connect& it) { connect(link, envelope.from, it); },
                     [&](const Disconnect& it) { link.disconnect(it.node); },
                 },
                 *order);
    } else if (envelope.to.role == Role::compute || envelope.to.role == Role::recorder) {
      if (local) local(std::move(envelope));
    } else {
      link.send(std::move(envelope));
    }
  }
}

}  // namespace steelyard
