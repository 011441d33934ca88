// PictureStore: decoded pictures, some of them kept in memory, up to a limit. Pictures are decoded when they
// are read, or shortly before, on several threads.
//
// The first pictures that are read stay. Once the limit is reached, the others are decoded each time: samples
// come in a new order in each epoch, so that the oldest picture is needed as soon as any other. A part of the
// memory is for pictures that prepare() has decoded and nothing has read yet; the oldest of these give way.
//
// Bytes do not depend on the number of threads, nor on what is kept.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace steelyard {

class PictureStore {
 public:
  struct Options {
    std::uint64_t picture_bytes = 0;  // of each decoded picture
    std::uint64_t limit = 0;          // bytes of all decoded pictures in memory
    unsigned threads = 1;             // that decode, with the one that reads
  };
  // Writes the bytes of a picture; called from several threads, and may throw.
  using Decode = std::function<void(std::uint64_t index, std::uint8_t* into)>;

  PictureStore(Decode decode, const Options& options);
  ~PictureStore();
  PictureStore(const PictureStore&) = delete;
  PictureStore& operator=(const PictureStore&) = delete;

  // Calls `use` with the bytes of a picture; rethrows what Decode threw. From any thread.
  void read(std::uint64_t index, const std::function<void(const std::uint8_t* pixels)>& use);
  // A hint: these are read next. Returns at once. With one thread it does nothing.
  void prepare(std::span<const std::uint64_t> indices);

  // All decoded pictures in memory, and those that will be decoded ahead: at most the limit.
  [[nodiscard]] std::uint64_t bytes() const;
  [[nodiscard]] std::uint64_t times_decoded() const;  // so far

 private:
  struct Entry {
    enum class State : std::uint8_t { waiting, decoding, ready } state = State::waiting;
    bool kept = false;              // was read, and stays
    std::uint64_t prepared_at = 0;  // reads_ then
    std::shared_ptr<std::vector<std::uint8_t>> pixels{};
    std::exception_ptr failure{};
  };
  using Lock = std::unique_lock<std::mutex>;

  void run();
  std::shared_ptr<std::vector<std::uint8_t>> decoded(std::uint64_t index) const;
  // These are called with the lock held; decode_waiting() releases it meanwhile.
  void decode_waiting(std::uint64_t index, Lock& lock);
  bool has_room();
  void keep_or_drop(std::uint64_t index);

  const Decode decode_;
  const Options options_;
  const std::uint64_t most_kept_, most_prepared_;  // pictures

  mutable std::mutex mutex_;
  std::condition_variable work_, done_;
  std::map<std::uint64_t, Entry> entries_;
  std::deque<std::uint64_t> prepared_;  // entries that nothing has read yet, the oldest first
  std::deque<std::uint64_t> waiting_;   // those of them that are not being decoded yet
  std::uint64_t kept_ = 0, decoded_ = 0, reads_ = 0;
  bool ends_ = false;
  std::vector<std::thread> threads_;  // started by the first prepare()
};

}  // namespace steelyard
