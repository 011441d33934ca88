#include "core/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <cstring>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010  // Linux 5.1; the headers of older C libraries lack it
#endif

namespace steelyard {
namespace {

static_assert(sizeof(Segment::Head) <= Segment::head_size);

std::array<std::uint64_t, 2> draw() {
  std::array<std::uint64_t, 2> drawn{};
  if (getrandom(drawn.data(), sizeof drawn, 0) != sizeof drawn) drawn = {};
  return drawn;
}

// Zeros if the system provides no random numbers.
const std::array<std::uint64_t, 2>& this_process() {
  static const std::array<std::uint64_t, 2> drawn = draw();
  return drawn;
}

std::byte* map(int file, std::size_t size) {
  if (ftruncate(file, static_cast<off_t>(size)) != 0) return nullptr;
  void* base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return base == MAP_FAILED ? nullptr : static_cast<std::byte*>(base);
}

bool seal(int file) {
  return fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) == 0;
}

}  // namespace

std::unique_ptr<Segment> Segment::make(std::size_t bytes) {
  static std::atomic<std::uint64_t> made{0};
  if (this_process() == std::array<std::uint64_t, 2>{}) return nullptr;
  const int file = memfd_create("steelyard", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0) return nullptr;
  std::byte* const base = map(file, head_size + bytes);
  const Head head{mark, {this_process(), ++made}};
  std::unique_ptr<Segment> segment;
  if (base != nullptr) {
    segment.reset(new Segment(file, base, bytes, head.name));
  } else {
    close(file);
  }
  if (!segment || !seal(file) || fallocate(file, 0, 0, head_size) != 0) return nullptr;
  std::memcpy(base, &head, sizeof head);
  return segment;
}

Segment::~Segment() {
  munmap(base_, head_size + size_);
  close(descriptor_);
}

bool Segment::reserve(std::size_t offset, std::size_t bytes) const {
  return bytes == 0 ||
         fallocate(descriptor_, 0, static_cast<off_t>(head_size + offset), static_cast<off_t>(bytes)) == 0;
}

}  // namespace steelyard
