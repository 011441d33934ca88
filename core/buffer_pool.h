// BufferPool: reuses flat buffers. A buffer returns to its pool when the last pointer to it is destroyed, on
// any thread.
//
// Taking a buffer that already exists allocates nothing: the control block of the std::shared_ptr is stored
// beside it. A buffer with a retired segment is not reused. By default its memory is freed; `Retired::kept`
// keeps it as long as the pool, for memory that a device driver knows by its address. Copies of a pool are
// the same pool.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "core/buffer.h"
#include "core/lasting_memory.h"

namespace steelyard {

class BufferPool {
 public:
  enum class Retired { freed, kept };

  explicit BufferPool(std::size_t floats, Memory memory = Memory::own, Retired retired = Retired::freed)
      : shared_(std::make_shared<Shared>(floats, memory, retired)) {}

  [[nodiscard]] Memory memory() const { return shared_->memory; }
  // A buffer with unspecified contents.
  std::shared_ptr<FloatBuffer> take() {
    Slot* slot = shared_->take();
    return {&slot->buffer, [](FloatBuffer*) {}, Beside<FloatBuffer>{shared_, slot}};
  }

 private:
  struct Slot {
    Slot(std::size_t floats, Memory memory) : buffer(floats, memory) { buffer.reserve(0, floats); }
    FloatBuffer buffer;
    LastingMemory lasting{buffer.data(), buffer.size() * sizeof(float), true};
    alignas(std::max_align_t) std::byte book[64];  // the control block of the pointers to it
  };
  struct Shared {
    Shared(std::size_t floats, Memory its_memory, Retired its_retired)
        : size(floats), memory(its_memory), retired(its_retired) {}

    Slot* take() {
      const std::lock_guard lock(mutex);
      if (free.empty()) return new Slot(size, memory);
      Slot* slot = free.back().release();
      free.pop_back();
      return slot;
    }
    void give_back(Slot* used) {
      std::unique_ptr<Slot> slot(used);
      const Segment* segment = slot->buffer.segment();
      const bool reused = segment == nullptr || !segment->retired();
      if (!reused && retired == Retired::freed) return;
      const std::lock_guard lock(mutex);
      (reused ? free : kept).push_back(std::move(slot));
    }

    const std::size_t size;
    const Memory memory;
    const Retired retired;
    std::mutex mutex;  // protects the lists
    std::vector<std::unique_ptr<Slot>> free, kept;
  };

  // Allocator of the control block. The block is freed last, so freeing it returns the buffer to the pool.
  template <class T>
  struct Beside {
    using value_type = T;
    std::shared_ptr<Shared> shared;  // the store outlives the pool while any of its buffers is in use
    Slot* slot;

    Beside(std::shared_ptr<Shared> store, Slot* its_slot) : shared(std::move(store)), slot(its_slot) {}
    template <class U>
    explicit Beside(const Beside<U>& other) : shared(other.shared), slot(other.slot) {}

    T* allocate(std::size_t) {
      static_assert(sizeof(T) <= sizeof(Slot::book));
      return reinterpret_cast<T*>(slot->book);
    }
    void deallocate(T*, std::size_t) { shared->give_back(slot); }
    template <class U>
    bool operator==(const Beside<U>& other) const {
      return slot == other.slot;
    }
  };

  std::shared_ptr<Shared> shared_;
};

}  // namespace steelyard
