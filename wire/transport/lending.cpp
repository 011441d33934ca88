#include "wire/transport/lending.h"

#include <unistd.h>

#include <utility>

namespace steelyard {

// What keeps borrowed bytes mapped; with the last copy of the blob the lease ends.
class Lending::Borrowed {
 public:
  Borrowed(std::shared_ptr<const PeerSegment> segment, std::shared_ptr<Ended> ended, std::uint64_t lease)
      : segment_(std::move(segment)), ended_(std::move(ended)), lease_(lease) {}
  ~Borrowed() { ended_->try_push(lease_); }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;

 private:
  const std::shared_ptr<const PeerSegment> segment_;
  const std::shared_ptr<Ended> ended_;
  const std::uint64_t lease_;
};

Lending::Lending(const Segment* trial, PeerMemory& memory)
    : trial_(trial), memory_(memory), ended_(std::make_shared<Ended>(most_lent)) {}

Lending::~Lending() {
  ended_->close();
  for (const auto& [lease, blob] : lent_) blob.segment()->retire();
  memory_.forget_unused();
}

Lending::Bytes Lending::introduction() const {
  if (trial_ == nullptr) return encode_lending(Introduction{0, 0, {}, Reading::impossible});
  return encode_lending(Introduction{static_cast<std::uint32_t>(getpid()),
                                     static_cast<std::uint32_t>(trial_->descriptor()), trial_->name(),
                                     reading_});
}

std::optional<bool> Lending::agreed() const {
  if (!peer_ || peer_->reading == Reading::untried) return std::nullopt;
  return peer_->reading == Reading::possible && reading_ == Reading::possible;
}

std::optional<Lending::Bytes> Lending::lend(const Frames& frames) {
  if (!agreed().value_or(false) || !frames.payload || lent_.size() >= most_lent) return std::nullopt;
  const Blob& payload = *frames.payload;
  const Segment* segment = payload.segment();
  if (segment == nullptr || payload.empty()) return std::nullopt;
  const auto offset = static_cast<std::uint64_t>(payload.bytes().data() - segment->data());
  const Loan loan{++last_lease_, segment->name().number, static_cast<std::uint32_t>(segment->descriptor()),
                  offset, payload.size()};
  lent_.emplace(loan.lease, payload);
  return encode_lending(LentMessage{loan, frames.header});
}

std::optional<Lending::Heard> Lending::hear(std::span<const std::byte> frame) {
  const auto decoded = decode_lending(frame);
  const auto* said = std::get_if<LendingFrame>(&decoded);
  if (said == nullptr) return std::nullopt;
  return std::visit([&](const auto& it) { return hear(it); }, *said);
}

// The first is answered; the second only tells how the trial went.
std::optional<Lending::Heard> Lending::hear(const Introduction& introduction) {
  const bool first = !peer_;
  if (first) {
    const bool readable =
        trial_ != nullptr && introduction.process != 0 &&
        memory_.find(introduction.process, introduction.descriptor, introduction.segment) != nullptr;
    reading_ = readable ? Reading::possible : Reading::impossible;
    peer_ = introduction;
  } else {
    peer_->reading = introduction.reading;
  }
  Heard heard;
  if (first) heard.answer = this->introduction();
  return heard;
}

std::optional<Lending::Heard> Lending::hear(const LentMessage& message) {
  if (trial_ == nullptr || !peer_ || peer_->process == 0) return std::nullopt;
  const Loan& loan = message.loan;
  auto segment = memory_.find(peer_->process, loan.descriptor, {peer_->segment.process, loan.segment});
  const auto bytes = segment ? segment->values(loan.offset, loan.size) : std::nullopt;
  auto borrowed = std::make_shared<const Borrowed>(std::move(segment), ended_, loan.lease);
  if (bytes) return Heard{std::nullopt, message, Blob(std::move(borrowed), *bytes)};
  reading_ = Reading::impossible;
  return Heard{introduction(), std::nullopt, {}};
}

std::optional<Lending::Heard> Lending::hear(const Returned& returned) {
  for (const std::uint64_t lease : returned.leases) lent_.erase(lease);
  return Heard{};
}

std::optional<Lending::Bytes> Lending::returns() {
  Returned returned;
  while (ended_->size() > 0) returned.leases.push_back(*ended_->pop());
  if (returned.leases.empty()) return std::nullopt;
  return encode_lending(returned);
}

}  // namespace steelyard
