#include "core/peer_segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "core/descriptor.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010  // Linux 5.1; the headers of older C libraries lack it
#endif

namespace steelyard {
namespace {

std::string place_of(const std::string& process, int descriptor) {
  return "/proc/" + process + "/fd/" + std::to_string(descriptor);
}

// The file's size if it can be trusted. `found` was opened by path only (O_PATH), without the side effects
// that opening another kind of file could have.
std::optional<std::size_t> trusted_size(int found) {
  struct stat status {};
  if (fstat(found, &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid())
    return std::nullopt;
  if (status.st_size < static_cast<off_t>(Segment::head_size)) return std::nullopt;
  return static_cast<std::size_t>(status.st_size);
}

bool sealed(int file) {
  const int seals = fcntl(file, F_GET_SEALS);
  constexpr int needed = F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE;
  return seals >= 0 && (seals & needed) == needed;
}

}  // namespace

std::shared_ptr<const PeerSegment> PeerSegment::open(std::uint32_t process, std::uint32_t descriptor,
                                                     const SegmentName& name) {
  if (descriptor > INT32_MAX) return nullptr;
  const Descriptor found(
      ::open(place_of(std::to_string(process), static_cast<int>(descriptor)).c_str(), O_PATH | O_CLOEXEC));
  const auto size = trusted_size(found.get());
  if (!size) return nullptr;
  const Descriptor file(::open(place_of("self", found.get()).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.there() || !sealed(file.get())) return nullptr;
  void* base = mmap(nullptr, *size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (base == MAP_FAILED) return nullptr;
  std::shared_ptr<const PeerSegment> segment(new PeerSegment(static_cast<const std::byte*>(base), *size));
  Segment::Head head;
  std::memcpy(&head, base, sizeof head);
  return head.mark == Segment::mark && head.name == name ? segment : nullptr;
}

PeerSegment::~PeerSegment() {
  lasting_.reset();
  munmap(const_cast<std::byte*>(base_), size_);
}

std::optional<std::span<const std::byte>> PeerSegment::values(std::uint64_t offset,
                                                              std::uint64_t size) const {
  const std::uint64_t all = size_ - Segment::head_size;
  if (offset > all || size > all - offset) return std::nullopt;
  return std::span(base_ + Segment::head_size + offset, size);
}

}  // namespace steelyard
