#include "worker/data/pictures/picture_store.h"

#include <algorithm>
#include <utility>

#include "core/check.h"

namespace steelyard {
namespace {

constexpr std::uint64_t most_ahead = 128;  // pictures that are prepared at a time

std::uint64_t capacity(const PictureStore::Options& options) {
  CHECK(options.picture_bytes > 0 && options.threads > 0, "a store for empty pictures, or without a thread");
  return options.limit / options.picture_bytes;
}

}  // namespace

PictureStore::PictureStore(Decode decode, const Options& options)
    : decode_(std::move(decode)),
      options_(options),
      most_kept_(capacity(options) -
                 (options.threads == 1 ? 0 : std::min(capacity(options) / 2, most_ahead))),
      most_prepared_(capacity(options) - most_kept_) {}

PictureStore::~PictureStore() {
  {
    const Lock lock(mutex_);
    ends_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void PictureStore::read(std::uint64_t index, const std::function<void(const std::uint8_t*)>& use) {
  Lock lock(mutex_);
  ++reads_;
  for (;;) {
    const auto found = entries_.find(index);
    if (found == entries_.end()) {
      lock.unlock();
      const auto pixels = decoded(index);
      lock.lock();
      ++decoded_;
      if (kept_ < most_kept_ &&
          entries_.try_emplace(index, Entry{Entry::State::ready, true, 0, pixels}).second)
        ++kept_;
      lock.unlock();
      return use(pixels->data());
    }
    if (found->second.state == Entry::State::waiting) {
      decode_waiting(index, lock);
    } else if (found->second.state == Entry::State::decoding) {
      // Decodes another one meanwhile: a thread that only waits is missing.
      if (waiting_.empty()) {
        done_.wait(lock);
      } else {
        decode_waiting(waiting_.front(), lock);
      }
    } else {
      const auto pixels = found->second.pixels;
      const std::exception_ptr failure = found->second.failure;
      if (!found->second.kept) keep_or_drop(index);
      lock.unlock();
      if (failure) std::rethrow_exception(failure);
      return use(pixels->data());
    }
  }
}

void PictureStore::prepare(std::span<const std::uint64_t> indices) {
  if (most_prepared_ == 0) return;
  const Lock lock(mutex_);
  // Not before, so that a process may fork after it has made its data set.
  while (threads_.size() + 1 < options_.threads) threads_.emplace_back([this] { run(); });
  for (const std::uint64_t index : indices) {
    if (entries_.contains(index)) continue;
    if (!has_room()) break;
    entries_[index].prepared_at = reads_;
    prepared_.push_back(index);
    waiting_.push_back(index);
  }
  work_.notify_all();
}

std::uint64_t PictureStore::bytes() const {
  const Lock lock(mutex_);
  return entries_.size() * options_.picture_bytes;
}

std::uint64_t PictureStore::times_decoded() const {
  const Lock lock(mutex_);
  return decoded_;
}

void PictureStore::run() {
  Lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
    if (ends_) return;
    decode_waiting(waiting_.front(), lock);
  }
}

std::shared_ptr<std::vector<std::uint8_t>> PictureStore::decoded(std::uint64_t index) const {
  auto pixels = std::make_shared<std::vector<std::uint8_t>>(options_.picture_bytes);
  decode_(index, pixels->data());
  return pixels;
}

// An entry that is being decoded stays where it is in memory, and is not removed.
void PictureStore::decode_waiting(std::uint64_t index, Lock& lock) {
  Entry& entry = entries_.at(index);
  entry.state = Entry::State::decoding;
  std::erase(waiting_, index);
  lock.unlock();
  std::shared_ptr<std::vector<std::uint8_t>> pixels;
  std::exception_ptr failure;
  try {
    pixels = decoded(index);
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  ++decoded_;
  entry.pixels = std::move(pixels);
  entry.failure = failure;
  entry.state = Entry::State::ready;
  done_.notify_all();
}

// Whether one more picture may be prepared. Removes the oldest one if it seems that nothing will read it, as
// after the cancellation of a request.
bool PictureStore::has_room() {
  if (prepared_.size() < most_prepared_) return true;
  const std::uint64_t oldest = prepared_.front();
  const auto found = entries_.find(oldest);
  if (found->second.state == Entry::State::decoding) return false;
  if (reads_ - found->second.prepared_at <= 2 * most_prepared_) return false;
  entries_.erase(found);
  prepared_.pop_front();
  std::erase(waiting_, oldest);
  return true;
}

void PictureStore::keep_or_drop(std::uint64_t index) {
  std::erase(prepared_, index);
  Entry& entry = entries_.at(index);
  if (entry.failure || kept_ == most_kept_) {
    entries_.erase(index);
    return;
  }
  entry.kept = true;
  ++kept_;
}

}  // namespace steelyard
