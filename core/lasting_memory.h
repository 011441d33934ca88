// LastingMemory: memory that holds values round after round: buffers of pools, and segments of other
// processes mapped here. Its owner announces it for as long as it exists. Code that knows only an address
// may attach to it what is expensive to make and must be undone before the memory is freed: a GPU that copies
// directly from and to it (nn/cuda/reachable.h).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace steelyard {

class LastingMemory {
 public:
  struct Range {
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
    bool writable = false;
  };
  // Undone by its destructor, on the thread that frees the memory.
  class Attachment {
   public:
    Attachment() = default;
    virtual ~Attachment() = default;
    Attachment(const Attachment&) = delete;
    Attachment& operator=(const Attachment&) = delete;
  };
  using Attach = std::function<std::unique_ptr<Attachment>(const Range&)>;

  // Declare it behind the member that owns the memory, so that it is destroyed first.
  LastingMemory(const void* data, std::size_t bytes, bool writable);
  ~LastingMemory();
  LastingMemory(const LastingMemory&) = delete;
  LastingMemory& operator=(const LastingMemory&) = delete;

  // Whether announced memory contains all these bytes, may be written (if `to_write`), and has an attachment.
  // The first call for a range makes it by `attach`; if that returns null, no later call tries again. The
  // caller must hold the memory. Any thread.
  static bool attached(const void* data, std::size_t bytes, bool to_write, const Attach& attach);

 private:
  const std::byte* const data_;
};

}  // namespace steelyard
