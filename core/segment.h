// Segment: memory of this process that other processes of its user may read where it lies.
//
// A file without a name in any directory (memfd_create(2)), mapped here for writing and then sealed: nobody,
// this process included, can map it for writing again, write to it, shrink or grow it. So a reader can change
// nothing, and never comes to an end of the file that was not there before. It goes with its last mapping,
// also when processes are killed.
//
// Other processes open it as /proc/PID/fd/N. Behind its first bytes lies its name, by which a reader knows
// that it has opened the right one. Any thread.
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
  // What the file begins with; the values follow.
  struct Head {
    std::array<char, 16> mark{};
    SegmentName name;
  };
  static constexpr std::array<char, 16> mark{'s', 't', 'e', 'e', 'l', 'y', 'a', 'r', 'd', ' ', 'm', 'e', 'm'};
  static constexpr std::size_t head_size = 64;  // bytes; values are aligned to as many

  // Room for so many bytes, all zero. None where the system has no such memory, or no more of it.
  static std::unique_ptr<Segment> make(std::size_t bytes);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  [[nodiscard]] std::byte* data() const { return base_ + head_size; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const SegmentName& name() const { return name_; }
  [[nodiscard]] int descriptor() const { return descriptor_; }

  // Takes the memory for these bytes of the values now. Without it the system takes it at the first write,
  // and ends the process if there is none. False: there is none.
  [[nodiscard]] bool reserve(std::size_t offset, std::size_t bytes) const;

  // A reader is out of sight and may go on reading: nothing may be written here any more, and the values go
  // once nobody here needs them.
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
