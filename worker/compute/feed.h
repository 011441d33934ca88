// Feed: reads a worker's samples and makes micro-batches of them, ahead of the thread that computes with
// them.
//
// The feed's thread serves requests in the order of request(), one micro-batch after the other (see
// BatchBuffer), until `ahead` micro-batches are ready. So the first ones are ready before the parameters of
// their piece arrive, and reading costs the computing thread no time.
//
// With several threads, the feed's thread only divides micro-batches into parts, which the others read. A
// micro-batch takes its place among those that next() returns before it is read, and next() waits for all of
// its parts: order and bits do not depend on the number of threads, and neither does the memory.
//
// next() throws the Failure of the first sample that cannot be read: the feed has then ended. close() stops
// preparing: next() returns at most what is ready, then null.
#pragma once

#include <steelyard/data_set.h>
#include <steelyard/engine.h>
#include <steelyard/micro_batch.h>

#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/queue.h"
#include "protocol/messages.h"
#include "worker/compute/batch_buffer.h"
#include "worker/compute/sample_feed.h"

namespace steelyard {

class Feed final : public SampleFeed {
 public:
  static constexpr std::size_t ahead = 4;             // micro-batches, including the one being computed
  static constexpr std::size_t most_requests = 1024;  // waiting; request() then blocks
  static constexpr std::uint32_t part_size = 32;      // samples that a thread reads at a time
  static constexpr unsigned most_threads = 4;         // beside a device

  // `sizes`: of the engine. `grain`: of the job; local steps are multiples of it. `threads`: at least one,
  // which read samples.
  Feed(DataSets data, std::uint64_t seed, const BatchSizes& sizes, std::uint64_t grain = 1,
       unsigned threads = 1);
  ~Feed() override;
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  // The number of threads on a machine with this number of cores. Several only beside a device: cores are
  // free then, and a device needs more samples than one thread reads.
  static unsigned threads_for(WorkPlace place, unsigned cores);

  std::shared_ptr<FeedRequest> request(const Piece& piece) override;
  const nn::MicroBatch* next(const std::shared_ptr<FeedRequest>& request) override;
  void close() override;

 private:
  // A micro-batch and the state of its parts.
  class Slot {
   public:
    Slot(const DataSet& data, const BatchSizes& sizes);

    BatchBuffer buffer;

    // On the feed's thread, before any part is read.
    void expect_parts(std::uint32_t count);
    // Part `index` is read, or dropped, or failed; once for each part, from any thread.
    void read(std::uint32_t index) { finish(index, State::read); }
    void drop(std::uint32_t index) { finish(index, State::dropped); }
    void fail(std::uint32_t index, const Failure& failure);
    // Waits until all parts are finished. False if some were dropped. Throws the first failure.
    bool wait() const;

   private:
    enum class State : std::uint8_t { read, dropped };
    struct Outcome {
      State state = State::read;
      std::optional<Failure> failure{};
    };
    void finish(std::uint32_t index, State state);

    std::vector<Outcome> outcomes_;          // of each part, written by the thread that finishes it
    std::atomic<std::uint32_t> unfinished_;  // parts; zero publishes the buffer
  };
  // Samples [begin, end) of a micro-batch, to be read.
  struct Part {
    std::shared_ptr<FeedRequest> request;
    std::shared_ptr<const SampleOrder> order;
    Interval positions;  // of the micro-batch, and all that follow
    Slot* slot = nullptr;
    std::uint32_t index = 0, begin = 0, end = 0;
  };
  // Passed from the feed's thread to the computing thread.
  struct Prepared {
    std::shared_ptr<FeedRequest> request;
    Slot* slot;  // null: the request was cancelled, no more follows
  };

  void run();
  void run_reader();
  bool serve_next();
  bool serve(const std::shared_ptr<FeedRequest>& request);
  bool serve(const std::shared_ptr<FeedRequest>& request, const std::shared_ptr<const SampleOrder>& order,
             Interval rest);
  std::uint32_t serve_one(const std::shared_ptr<FeedRequest>& request,
                          const std::shared_ptr<const SampleOrder>& order, Interval rest);
  void read(const Part& part, float* scratch);
  bool wait_for(const Slot& slot);

  // Constant after construction.
  const DataSets data_;
  const std::uint64_t seed_, grain_;
  const unsigned threads_;

  // All slots. Each is, at any time, in one of two queues, given out, or held by the feed's thread.
  std::vector<std::unique_ptr<Slot>> slots_;
  BoundedQueue<std::shared_ptr<FeedRequest>> requests_;
  BoundedQueue<Slot*> free_;
  BoundedQueue<Prepared> ready_;
  BoundedQueue<Part> parts_;          // for the readers
  std::atomic<bool> closed_{false};   // parts are dropped; only ever set; orders nothing else
  std::vector<float> scratch_;        // of the feed's thread, if it reads
  std::optional<Failure> failure_{};  // of the computing thread, which throws it again
  Slot* given_ = nullptr;             // by next(), in use by its caller
  Slot* spare_ = nullptr;             // of the feed's thread: taken, but not used because of a cancellation
  std::vector<std::thread> readers_;  // none with one thread: the feed's thread reads
  std::thread thread_;                // last: these use all of the above
};

}  // namespace steelyard
