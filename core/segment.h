// Segment: memory of this process that other processes of the same user can map read-only.
//
// An anonymous file (memfd_create(2)), mapped here for writing and then sealed: no process, including this
// one, can map it for writing again, write to it, shrink or grow it. Readers therefore cannot change it, and
// its end cannot move under them. The file is freed with its last mapping, even if processes are killed.
//
// Other processes open it as /proc/PID/fd/N. The file's head contains its name, by which a reader verifies
// that it opened the right one. Any thread.
#pragma once

#include <array>
#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace steelyard {

struct SegmentName {
  std::array<std::uint64_t, 2> process{};  // drawn at random by each process
  std::uint64_t number = 0;                // of the segment, in its process
  friend auto operator<=>(const SegmentName&, const SegmentName&) = default;
};

class Segment {
 public:
  // The head of the file; the values follow it.
  struct Head {
    std::array<char, 16> mark{};
    SegmentName name;
  };
  static constexpr std::array<char, 16> mark{'s', 't', 'e', 'e', 'l', 'y', 'a', 'r', 'd', ' ', 'm', 'e', 'm'};
  static constexpr std::size_t head_size = 64;  // bytes; also the alignment of the values

  // Makes a zeroed segment of this many bytes. Null if the system has no memfd or no memory left.
  static std::unique_ptr<Segment> make(std::size_t bytes);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  [[nodiscard]] std::byte* data() const { return base_ + head_size; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const SegmentName& name() const { return name_; }
  [[nodiscard]] int descriptor() const { return descriptor_; }

  // Allocates the memory behind these bytes of the values now; otherwise the system allocates it at the first
  // write, and kills the process if it has none left. Returns false if there is not enough.
  [[nodiscard]] bool reserve(std::size_t offset, std::size_t bytes) const;

  // A reader was lost and may still be reading: the values must not be overwritten. They are freed once this
  // process no longer needs them.
  void retire() const { retired_ = true; }
  [[nodiscard]] bool retired() const { return retired_; }

 private:
  Segment(int descriptor, std::byte* base, std::size_t size, const SegmentName& name)
      : descriptor_(descriptor), base_(base), size_(size), name_(name) {}

  const int descriptor_;
  std::byte* const base_;
  const std::size_t size_;
  const SegmentName name_;
  mutable std::atomic<bool> retired_{false};
};

}  // namespace steelyard
