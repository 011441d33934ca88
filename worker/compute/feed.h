// Feed: turns a worker's pieces, intervals of positions, into micro-batches, ahead of the thread that
// computes with them.
//
// Requests are served in the order of request(), each micro-batch after micro-batch (what is in them:
// BatchBuffer), by one thread that belongs to the feed and runs until `ahead` micro-batches
// wait. So the first ones of a request are there before its parameters are, and reading costs the computing
// thread nothing.
//
// Threads: request() from one thread, next() from one thread, FeedRequest::cancel() from any.
#pragma once

#include <steelyard/data_set.h>
#include <steelyard/micro_batch.h>

#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "core/buffer.h"
#include "core/error.h"
#include "core/queue.h"
#include "core/random.h"
#include "protocol/messages.h"

namespace steelyard {

// SampleOrder: which sample a position is. Shared by all micro-batches of one piece.
//
//  training    position p of epoch e is sample P(p), where P is the permutation of the training set keyed by
//              hash(seed, e): the same on every machine, and another one each epoch
//  evaluation  position p is sample p of the test set
//
// Training samples are augmented, if the data set asks for it (include/steelyard/data_set.h).
class SampleOrder {
 public:
  SampleOrder(const DataSets& data, Purpose purpose, std::uint64_t seed, std::uint64_t epoch);

  [[nodiscard]] const DataSet& data() const { return *data_; }
  [[nodiscard]] std::uint64_t sample(Position position) const {
    return shuffled_ ? permutation_(position) : position;
  }
  // The sample at a position. Throws Failure for what the data set throws, and for a label out of range, with
  // the sample's place.
  // `scratch` is as large as the sample.
  void read(Position position, float* into, std::uint32_t* labels, float* scratch) const;
  // "data set 'rings', training sample 4711 (position 12 of epoch 3)"
  [[nodiscard]] std::string place(Position position) const;
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }

 private:
  std::shared_ptr<const DataSet> data_;
  std::string name_;
  Augmentation augmentation_;
  bool shuffled_;
  std::uint64_t seed_, epoch_;
  Permutation permutation_;
};

// BatchBuffer: the memory behind one micro-batch.
//
// n positions make micro-batches of the largest size and one of the smallest that holds the rest. What of it
// is not needed is padding: zero input, label 0, position 0; MicroBatch::count tells how many samples are
// real.
//
// Belongs to one thread at a time; used again and again without allocating.
class BatchBuffer {
 public:
  // `labels`: of each sample; `sizes`: of micro-batches, largest first.
  BatchBuffer(nn::Shape shape, std::uint32_t labels, std::vector<std::uint32_t> sizes);

  // The first micro-batch of `positions`, which are not empty and lie inside the data set.
  const nn::MicroBatch& fill(const SampleOrder& order, Interval positions);
  [[nodiscard]] const nn::MicroBatch& batch() const { return batch_; }

 private:
  [[nodiscard]] std::uint32_t size_for(std::uint64_t samples) const;

  const std::uint64_t sample_size_, labels_each_;
  const std::vector<std::uint32_t> sizes_;
  FloatBuffer inputs_, scratch_;
  std::vector<std::uint32_t> labels_;
  std::vector<std::uint64_t> positions_;
  nn::MicroBatch batch_;
};

// A request for the micro-batches of a piece. Shared by the caller and the feed.
struct FeedRequest {
  explicit FeedRequest(const Piece& wanted) : piece(wanted), end_(wanted.positions.end) {}

  const Piece piece;  // no micro-batch belongs to two of its local steps

  // Nobody wants the rest: next() gives no more of it, and the feed goes on with the next request.
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

  // Somebody asks for an end before the piece's, between two micro-batches. Whoever computes takes the
  // question, once, and if it is not too late ends there.
  void ask_end(Position end) { asked_.store(end, std::memory_order_relaxed); }
  [[nodiscard]] Position take_asked_end() {
    if (asked_.load(std::memory_order_relaxed) == nobody_asks) return nobody_asks;
    return asked_.exchange(nobody_asks, std::memory_order_relaxed);
  }
  static constexpr Position nobody_asks = UINT64_MAX;
  // The feed prepares nothing behind this any more; what it has prepared is not asked for.
  void end_at(Position end) { end_.store(end, std::memory_order_relaxed); }
  [[nodiscard]] Position end() const { return end_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> cancelled_{false};  // only ever set; orders nothing else
  std::atomic<Position> asked_{nobody_asks}, end_;
};

class Feed {
 public:
  static constexpr std::size_t ahead = 4;             // micro-batches, the one being computed included
  static constexpr std::size_t most_requests = 1024;  // not yet begun; request() then waits

  // `sizes`: of micro-batches, as Engine::micro_batch_sizes(). `grain`: the job's, which local steps keep to.
  Feed(DataSets data, std::uint64_t seed, const std::vector<std::uint32_t>& sizes, std::uint64_t grain = 1);
  ~Feed();
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  // The positions are not empty and lie inside the data set.
  std::shared_ptr<FeedRequest> request(const Piece& piece);

  // The next micro-batch of this request, which stays as it is until the next call; null if the request is
  // cancelled or the feed closed. Requests are asked for in their order, each as often as it has
  // micro-batches; what is left of earlier ones is thrown away. Throws the Failure that reading ended with:
  // then there is no more.
  const nn::MicroBatch* next(const std::shared_ptr<FeedRequest>& request);

  // Prepares no more. next() gives what is ready at the most, then null.
  void close();

 private:
  // What goes from the feed's thread to the one that computes.
  struct Prepared {
    std::shared_ptr<FeedRequest> request;
    BatchBuffer* buffer;  // null: the request was cancelled, nothing more of it comes
  };

  void run();
  bool serve_next();
  bool serve(const std::shared_ptr<FeedRequest>& request);
  bool serve(const std::shared_ptr<FeedRequest>& request, const SampleOrder& order, Interval rest);

  // Constant after construction.
  const DataSets data_;
  const std::uint64_t seed_, grain_;

  // All buffers there are. Each is, at any time, in one of two queues, given out, or in the feed's hands.
  std::vector<std::unique_ptr<BatchBuffer>> buffers_;
  BoundedQueue<std::shared_ptr<FeedRequest>> requests_;
  BoundedQueue<BatchBuffer*> free_;
  BoundedQueue<Prepared> ready_;

  std::optional<Failure> failure_;  // of the feed's thread; written before it closes the queues
  BatchBuffer* given_ = nullptr;    // by next(): what its caller computes with
  BatchBuffer* spare_ = nullptr;    // of the feed's thread: taken, but not filled because of a cancellation
  std::thread thread_;              // last: it uses all of the above
};

}  // namespace steelyard
