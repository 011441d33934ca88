#include "wire/transport/host.h"

#include "core/error.h"

namespace steelyard {
namespace {

// The endpoint came over the wire: one that makes no sense is a peer that cannot be reached.
void connect(Link& link, const Connect& order) {
  try {
    link.connect(order.node, order.endpoint);
  } catch (const Failure&) {
  }
}

}  // namespace

void deliver(Link& link, const LocalDelivery& local, std::vector<Envelope> said) {
  for (Envelope& envelope : said) {
    if (const auto* order = std::get_if<ToLink>(&envelope.message)) {
      std::visit(Overloaded{
                     [&](const Connect& it) { connect(link, it); },
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
