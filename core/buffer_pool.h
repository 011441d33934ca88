// Flat buffers that are used again: a buffer goes back to its pool when the last pointer to it
// goes, on any thread.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "core/buffer.h"

namespace steelyard {

class BufferPool {
 public:
  explicit BufferPool(std::size_t floats) : shared_(std::make_shared<Shared>(floats)) {}

  // A buffer with whatever was in it before.
  std::shared_ptr<FloatBuffer> take() {
    std::unique_ptr<FloatBuffer> buffer = shared_->take();
    // The pool's store outlives the pool while any of its buffers is about.
    return {buffer.release(), [shared = shared_](FloatBuffer* used) { shared->give_back(used); }};
  }

 private:
  struct Shared {
    explicit Shared(std::size_t floats) : size(floats) {}

    std::unique_ptr<FloatBuffer> take() {
      const std::lock_guard lock(mutex);
      if (free.empty()) return std::make_unique<FloatBuffer>(size);
      std::unique_ptr<FloatBuffer> buffer = std::move(free.back());
      free.pop_back();
      return buffer;
    }
    void give_back(FloatBuffer* used) {
      const std::lock_guard lock(mutex);
      free.emplace_back(used);
    }

    const std::size_t size;
    std::mutex mutex;  // protects free
    std::vector<std::unique_ptr<FloatBuffer>> free;
  };

  std::shared_ptr<Shared> shared_;
};

}  // namespace steelyard
