// SampleFeed: turns a worker's pieces (intervals of positions) into micro-batches, for the thread that
// computes with them.
//
// Threads: request() from one thread, next() from one thread, close() and FeedRequest::cancel() from any.
#pragma once

#include <steelyard/engine.h>
#include <steelyard/micro_batch.h>

#include <atomic>
#include <memory>

#include "protocol/job.h"
#include "protocol/messages.h"

namespace steelyard {

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

class SampleFeed {
 public:
  virtual ~SampleFeed() = default;

  // The positions must not be empty and must lie inside the data set.
  virtual std::shared_ptr<FeedRequest> request(const Piece& piece) = 0;
  // The next micro-batch of this request, valid until the next call; null if the request is cancelled or the
  // feed closed. Call it in the order of the requests, once for each micro-batch; remaining micro-batches of
  // earlier requests are dropped. Throws Failure if samples cannot be read.
  virtual const nn::MicroBatch* next(const std::shared_ptr<FeedRequest>& request) = 0;
  // Soon next() returns null.
  virtual void close() = 0;
};

// The feed of this engine: one that names samples if the engine keeps them (worker/compute/kept_feed.h), and
// one that reads them otherwise. The engine must outlive it.
std::unique_ptr<SampleFeed> make_feed(DataSets data, const Engine& engine, const Job& job);

}  // namespace steelyard
