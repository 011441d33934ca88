// Feed: turns a worker's pieces (intervals of positions) into micro-batches, ahead of the thread that
// computes with them.
//
// The feed's thread serves requests in the order of request(), one micro-batch after the other (see
// BatchBuffer), until `ahead` micro-batches are ready. So the first ones are ready before the parameters of
// their piece arrive, and reading costs the computing thread no time.
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
#include "worker/compute/batch_sizes.h"

namespace steelyard {

// SampleOrder: maps positions to samples. Shared by all micro-batches of one piece.
//
//  training    position p of epoch e is sample P(p), where P is the permutation of the training set keyed by
//              hash(seed, e): the same on every machine, and different in each epoch
//  evaluation  position p is sample p of the test set
//
// Training samples are augmented if the data set requests it (include/steelyard/data_set.h).
class SampleOrder {
 public:
  SampleOrder(const DataSets& data, Purpose purpose, std::uint64_t seed, std::uint64_t epoch);

  [[nodiscard]] const DataSet& data() const { return *data_; }
  [[nodiscard]] std::uint64_t sample(Position position) const {
    return shuffled_ ? permutation_(position) : position;
  }
  // Reads the sample at a position. Throws Failure, which names the sample, if the data set throws or a label
  // is out of range. `scratch` has the size of the sample. `targets` is written if the samples have them.
  void read(Position position, float* into, std::uint32_t* labels, float* targets, float* scratch) const;
  // DataSet::prepare() for the first samples of these positions, at most `prepared`.
  static constexpr std::uint64_t prepared = 64;
  void prepare(Interval positions) const;
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

// BatchBuffer: the memory of one micro-batch.
//
// Positions are divided into micro-batches by BatchSizes. Unused entries of the last one are padding: zero
// input, label 0, targets 0, position 0; MicroBatch::count is the number of real samples.
//
// Belongs to one thread at a time; reused without allocating.
class BatchBuffer {
 public:
  // `labels` and `targets`: per sample.
  BatchBuffer(nn::Shape shape, std::uint32_t labels, BatchSizes sizes, std::uint32_t targets = 0);

  // Reads the samples of the first micro-batch of `positions` into this buffer, by SampleOrder::read(), and
  // has the data set prepare those that follow.
  // `positions` must not be empty and must lie inside the data set.
  const nn::MicroBatch& fill(const SampleOrder& order, Interval positions);
  [[nodiscard]] const nn::MicroBatch& batch() const { return batch_; }

 private:
  const std::uint64_t sample_size_, labels_each_, targets_each_;
  const BatchSizes sizes_;
  FloatBuffer inputs_, scratch_;
  std::vector<std::uint32_t> labels_;
  std::vector<float> targets_;
  std::vector<std::uint64_t> positions_;
  nn::MicroBatch batch_;
};

// A request for the micro-batches of a piece. Shared by the caller and the feed.
struct FeedRequest {
  explicit FeedRequest(const Piece& wanted) : piece(wanted), end_(wanted.positions.end) {}

  const Piece piece;  // no micro-batch spans two of its local steps

  // Drops the rest: next() returns no more of it, and the feed continues with the next request.
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

  // Requests to end the piece at this position, between two micro-batches. The computing thread takes the
  // request once, and ends there if it is not too late. take_asked_end() returns nobody_asks without a
  // request.
  void ask_end(Position end) { asked_.store(end, std::memory_order_relaxed); }
  [[nodiscard]] Position take_asked_end() {
    if (asked_.load(std::memory_order_relaxed) == nobody_asks) return nobody_asks;
    return asked_.exchange(nobody_asks, std::memory_order_relaxed);
  }
  static constexpr Position nobody_asks = UINT64_MAX;
  // The feed prepares nothing beyond this position. The computing thread does not fetch micro-batches beyond
  // it that are already prepared.
  void end_at(Position end) { end_.store(end, std::memory_order_relaxed); }
  [[nodiscard]] Position end() const { return end_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> cancelled_{false};  // only ever set; orders nothing else
  std::atomic<Position> asked_{nobody_asks}, end_;
};

class Feed {
 public:
  static constexpr std::size_t ahead = 4;             // micro-batches, including the one being computed
  static constexpr std::size_t most_requests = 1024;  // waiting; request() then blocks

  // `sizes`: of the engine. `grain`: of the job; local steps are multiples of it.
  Feed(DataSets data, std::uint64_t seed, const BatchSizes& sizes, std::uint64_t grain = 1);
  ~Feed();
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  // The positions must not be empty and must lie inside the data set.
  std::shared_ptr<FeedRequest> request(const Piece& piece);

  // The next micro-batch of this request, valid until the next call; null if the request is cancelled or the
  // feed closed. Call it in the order of the requests, once for each micro-batch; remaining micro-batches of
  // earlier requests are dropped. If reading failed, throws that Failure: the feed has then ended.
  const nn::MicroBatch* next(const std::shared_ptr<FeedRequest>& request);

  // Stops preparing. next() returns at most what is ready, then null.
  void close();

 private:
  // Passed from the feed's thread to the computing thread.
  struct Prepared {
    std::shared_ptr<FeedRequest> request;
    BatchBuffer* buffer;  // null: the request was cancelled, no more follows
  };

  void run();
  bool serve_next();
  bool serve(const std::shared_ptr<FeedRequest>& request);
  bool serve(const std::shared_ptr<FeedRequest>& request, const SampleOrder& order, Interval rest);

  // Constant after construction.
  const DataSets data_;
  const std::uint64_t seed_, grain_;

  // All buffers. Each is, at any time, in one of two queues, given out, or in use by the feed's thread.
  std::vector<std::unique_ptr<BatchBuffer>> buffers_;
  BoundedQueue<std::shared_ptr<FeedRequest>> requests_;
  BoundedQueue<BatchBuffer*> free_;
  BoundedQueue<Prepared> ready_;

  std::optional<Failure> failure_;  // of the feed's thread; written before it closes the queues
  BatchBuffer* given_ = nullptr;    // by next(), in use by its caller
  BatchBuffer* spare_ = nullptr;    // of the feed's thread: taken, but not filled because of a cancellation
  std::thread thread_;              // last: uses all of the above
};

}  // namespace steelyard
