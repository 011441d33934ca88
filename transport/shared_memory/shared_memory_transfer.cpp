#include "transport/shared_memory/shared_memory_transfer.h"

#include <unistd.h>

#include <utility>

#include "core/error.h"

namespace steelyard {

// Keeps borrowed bytes mapped, if they are in a segment. The lease ends with the last copy of the blob.
class SharedMemoryTransfer::Borrowed {
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

SharedMemoryTransfer::SharedMemoryTransfer(const Segment* trial, PeerMemory& memory, DeviceExchange* devices)
    : trial_(trial), memory_(memory), devices_(devices), ended_(std::make_shared<Ended>(most_lent)) {}

SharedMemoryTransfer::~SharedMemoryTransfer() {
  ended_->close();
  for (const auto& [lease, lent] : lent_) {
    if (lent.on_device) {
      devices_->retire(*lent.blob.device());
    } else {
      lent.blob.segment()->retire();
    }
  }
  memory_.forget_unused();
  if (devices_ != nullptr) devices_->forget_unused();
}

SharedMemoryTransfer::Bytes SharedMemoryTransfer::introduction() const {
  if (trial_ == nullptr) return encode_lending(Introduction{0, 0, {}, Reading::impossible});
  return encode_lending(Introduction{
      static_cast<std::uint32_t>(getpid()), static_cast<std::uint32_t>(trial_->descriptor()), trial_->name(),
      reading_, devices_ == nullptr ? DevicePlace{} : devices_->trial(), device_reading_});
}

std::optional<bool> SharedMemoryTransfer::agreed() const {
  if (!peer_ || peer_->reading == Reading::untried) return std::nullopt;
  return peer_->reading == Reading::possible && reading_ == Reading::possible;
}

bool SharedMemoryTransfer::agreed_on_devices() const {
  return agreed().value_or(false) && peer_->device_reading == Reading::possible &&
         device_reading_ == Reading::possible;
}

std::optional<Loan> SharedMemoryTransfer::lend(const Blob& payload) {
  if (lent_.size() >= most_lent) return std::nullopt;
  Loan loan;
  if (payload.device() && agreed_on_devices()) {
    if (const auto place = devices_->lend(*payload.device())) loan.device = *place;
  }
  const bool on_device = loan.device.bytes > 0;
  if (!on_device) {
    const Segment* segment = payload.segment();
    if (segment == nullptr) return std::nullopt;
    loan = {0, segment->name().number, static_cast<std::uint32_t>(segment->descriptor()),
            static_cast<std::uint64_t>(payload.bytes().data() - segment->data()), payload.size()};
  }
  loan.lease = ++last_lease_;
  lent_.emplace(loan.lease, Lent{payload, on_device});
  return loan;
}

bool SharedMemoryTransfer::take(const Frames& frames) {
  if (!agreed().value_or(false) || frames.header.size() > most_pending_bytes) return false;
  std::optional<Loan> loan = Loan{};
  if (frames.payload && !frames.payload->empty()) loan = lend(*frames.payload);
  if (!loan) return false;
  pending_.emplace_back(*loan, frames.header);
  pending_bytes_ += frames.header.size();
  return true;
}

std::optional<SharedMemoryTransfer::Bytes> SharedMemoryTransfer::batch() {
  Batch batch;
  while (ended_->size() > 0) batch.returned.push_back(*ended_->pop());
  for (const auto& [loan, header] : pending_) batch.messages.push_back({loan, header});
  if (batch.returned.empty() && batch.messages.empty()) return std::nullopt;
  Bytes frame = encode_lending(batch);
  pending_.clear();
  pending_bytes_ = 0;
  return frame;
}

std::optional<SharedMemoryTransfer::Heard> SharedMemoryTransfer::hear(std::span<const std::byte> frame) {
  const auto decoded = decode_lending(frame);
  const auto* said = std::get_if<LendingFrame>(&decoded);
  if (said == nullptr) return std::nullopt;
  return std::visit([&](const auto& it) -> std::optional<Heard> { return hear(it); }, *said);
}

// The first is answered; the second only has the result of the test.
SharedMemoryTransfer::Heard SharedMemoryTransfer::hear(const Introduction& introduction) {
  const bool first = !peer_;
  if (first) {
    const bool readable =
        trial_ != nullptr && introduction.process != 0 &&
        memory_.find(introduction.process, introduction.descriptor, introduction.segment) != nullptr;
    reading_ = readable ? Reading::possible : Reading::impossible;
    knows_devices_ = readable && reads_device(introduction);
    device_reading_ = knows_devices_ ? Reading::possible : Reading::impossible;
    peer_ = introduction;
  } else {
    peer_->reading = introduction.reading;
    peer_->device_reading = introduction.device_reading;
  }
  Heard heard;
  if (first) heard.answer = this->introduction();
  return heard;
}

// A device that fails here is not used for lending; its other work reports the failure.
bool SharedMemoryTransfer::reads_device(const Introduction& introduction) const try {
  return devices_ != nullptr && introduction.device.bytes > 0 && devices_->reads(introduction.device);
} catch (const Failure&) {
  return false;
}

// A message with an unreadable payload is lost, and the lender is notified that lending does not work.
std::optional<SharedMemoryTransfer::Heard> SharedMemoryTransfer::hear(const Batch& batch) {
  if (trial_ == nullptr || !peer_ || peer_->process == 0) return std::nullopt;
  for (const std::uint64_t lease : batch.returned) lent_.erase(lease);
  Heard heard;
  for (const LentMessage& message : batch.messages) {
    if (auto payload = borrow(message.loan)) {
      heard.messages.push_back({message.header, std::move(*payload)});
    } else {
      (message.loan.device.bytes > 0 ? device_reading_ : reading_) = Reading::impossible;
      heard.answer = introduction();
    }
  }
  return heard;
}

std::optional<Blob> SharedMemoryTransfer::borrow(const Loan& loan) {
  if (loan.device.bytes > 0) {
    auto values =
        !knows_devices_
            ? nullptr
            : devices_->borrow(loan.device, std::make_shared<const Borrowed>(nullptr, ended_, loan.lease));
    if (!values) return std::nullopt;
    return Blob(std::move(values));
  }
  if (loan.size == 0) return Blob();
  auto segment = memory_.find(peer_->process, loan.descriptor, {peer_->segment.process, loan.segment});
  const auto bytes = segment ? segment->values(loan.offset, loan.size) : std::nullopt;
  auto borrowed = std::make_shared<const Borrowed>(std::move(segment), ended_, loan.lease);
  if (!bytes) return std::nullopt;
  return Blob(std::move(borrowed), *bytes);
}

}  // namespace steelyard
