#include "core/lasting_memory.h"

#include <map>
#include <mutex>
#include <utility>

#include "core/check.h"

namespace steelyard {
namespace {

struct Announced {
  LastingMemory::Range range;
  bool tried = false;
  std::unique_ptr<LastingMemory::Attachment> attachment{};
};

struct All {
  std::mutex mutex;  // also held while an attachment is made, so that each is made once
  std::map<const std::byte*, Announced> by_begin;
};
// Never destroyed: memory may be freed at the end of the process.
All& all() {
  static All& it = *new All;
  return it;
}

}  // namespace

LastingMemory::LastingMemory(const void* data, std::size_t bytes, bool writable)
    : data_(static_cast<const std::byte*>(data)) {
  const std::lock_guard lock(all().mutex);
  const bool is_new = all().by_begin.emplace(data_, Announced{{data_, bytes, writable}}).second;
  CHECK(is_new, "memory is announced twice");
}

LastingMemory::~LastingMemory() {
  std::unique_ptr<Attachment> undone;  // after the mutex is released
  const std::lock_guard lock(all().mutex);
  const auto known = all().by_begin.find(data_);
  undone = std::move(known->second.attachment);
  all().by_begin.erase(known);
}

bool LastingMemory::attached(const void* data, std::size_t bytes, bool to_write, const Attach& attach) {
  const auto* const begin = static_cast<const std::byte*>(data);
  const std::lock_guard lock(all().mutex);
  auto found = all().by_begin.upper_bound(begin);
  if (found == all().by_begin.begin()) return false;
  Announced& it = (--found)->second;
  const auto offset = static_cast<std::size_t>(begin - it.range.data);
  if (offset > it.range.bytes || bytes > it.range.bytes - offset || (to_write && !it.range.writable))
    return false;
  if (!std::exchange(it.tried, true)) it.attachment = attach(it.range);
  return it.attachment != nullptr;
}

}  // namespace steelyard
