#include "scheduler/recovery/held_answers.h"

#include <utility>

namespace steelyard {

void HeldAnswers::hold(std::vector<Envelope> messages, std::uint64_t after) {
  if (messages.empty() || count_ + messages.size() > room_) return;
  count_ += messages.size();
  held_.push_back({after, std::move(messages)});
}

void HeldAnswers::release(std::uint64_t have, Outbox& out) {
  while (!held_.empty() && held_.front().after <= have) {
    count_ -= held_.front().messages.size();
    out.append(std::move(held_.front().messages));
    held_.pop_front();
  }
}

void HeldAnswers::drop_all() {
  held_.clear();
  count_ = 0;
}

}  // namespace steelyard
