#include "core/flat_pool.h"

#include <mutex>
#include <set>
#include <vector>

#include "core/check.h"
#include "core/lasting_memory.h"

namespace steelyard {
namespace {

constexpr std::size_t usual_buffers = 4;  // the previous, current and next version, and one with a late
                                          // reader

}  // namespace

struct FlatPool::Store {
  struct Buffer {
    Buffer(std::uint64_t floats, Memory memory) : values(floats, memory) {}

    [[nodiscard]] bool retired() const { return values.segment() != nullptr && values.segment()->retired(); }

    FloatBuffer values;
    LastingMemory lasting{values.data(), values.size() * sizeof(float), true};
    std::uint64_t version = 0;         // of the last choice
    std::set<std::uint64_t> used;      // begins of the parts in use
    std::set<std::uint64_t> reserved;  // begins of the parts with allocated memory
  };

  explicit Store(Memory its_memory) : memory(its_memory) {}

  std::shared_ptr<Buffer> choose(std::uint64_t floats, std::uint64_t begin, std::uint64_t version) {
    std::erase_if(buffers, [](const auto& buffer) { return buffer->retired(); });
    std::shared_ptr<Buffer> unused, with_room;
    for (const auto& buffer : buffers) {
      if (buffer->used.contains(begin)) continue;
      if (buffer->version == version && !buffer->used.empty()) return buffer;
      (buffer->used.empty() ? unused : with_room) = buffer;
    }
    if (!unused && with_room && buffers.size() >= usual_buffers) return with_room;
    if (!unused) unused = buffers.emplace_back(std::make_shared<Buffer>(floats, memory));
    unused->version = version;
    return unused;
  }

  const Memory memory;
  std::mutex mutex;  // protects the buffers' fields, not their values
  std::vector<std::shared_ptr<Buffer>> buffers;
};

FlatPool::FlatPool(Memory memory) : store_(std::make_shared<Store>(memory)) {}

FlatPool::Part FlatPool::take(std::uint64_t floats, std::uint64_t begin, std::uint64_t size,
                              std::uint64_t version) {
  CHECK(begin <= floats && size <= floats - begin, "a part lies inside of its buffer");
  const std::lock_guard lock(store_->mutex);
  const std::shared_ptr<Store::Buffer> buffer = store_->choose(floats, begin, version);
  CHECK(buffer->values.size() == floats, "all buffers of a pool have one size");
  if (!buffer->reserved.contains(begin)) buffer->values.reserve(begin, size);
  buffer->reserved.insert(begin);
  buffer->used.insert(begin);
  const auto give_back = [store = store_, buffer, begin](const void*) {
    const std::lock_guard its_lock(store->mutex);
    buffer->used.erase(begin);
  };
  const std::span<float> values = buffer->values.span().subspan(begin, size);
  return {std::shared_ptr<const void>(values.data(), give_back), values, buffer->values.segment()};
}

}  // namespace steelyard
