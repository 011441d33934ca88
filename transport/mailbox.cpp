#include "transport/mailbox.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

#include "core/check.h"

namespace steelyard {
namespace {

constexpr std::size_t capacity = 1 << 16;

}  // namespace

Mailbox::Mailbox() : wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)), posted_(capacity) {
  CHECK(wake_ >= 0, "no descriptor left for an eventfd");
}

Mailbox::~Mailbox() { close(wake_); }

void Mailbox::post(std::vector<Envelope> envelopes) {
  for (Envelope& envelope : envelopes) posted_.try_push(std::move(envelope));
  const std::uint64_t one = 1;
  (void)!write(wake_, &one, sizeof one);  // can only fail if it is signalled already
}

void Mailbox::take_posted() {
  std::uint64_t count = 0;
  (void)!read(wake_, &count, sizeof count);
  while (auto envelope = posted_.pop(Time{})) inbox_.push_back(std::move(*envelope));
}

void Mailbox::drop_from(NodeId sender) {
  std::erase_if(inbox_, [&](const Envelope& it) { return it.from == sender; });
}

Envelope Mailbox::next() {
  Envelope envelope = std::move(inbox_.front());
  inbox_.pop_front();
  return envelope;
}

}  // namespace steelyard
