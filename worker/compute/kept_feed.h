// KeptFeed: micro-batches of samples that an engine keeps on its device (Engine::kept_data()). They contain
// numbers, windows, labels and targets of samples, some bytes each, which next() computes itself: this feed
// has no thread. Order and division are those of Feed.
#pragma once

#include <steelyard/data_set.h>

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "worker/compute/batch_buffer.h"
#include "worker/compute/kept_data.h"
#include "worker/compute/piece_parts.h"
#include "worker/compute/sample_feed.h"

namespace steelyard {

class KeptFeed final : public SampleFeed {
 public:
  // `kept`: of these data sets; must outlive the feed. Others as in Feed.
  KeptFeed(const KeptData& kept, DataSets data, std::uint64_t seed, BatchSizes sizes,
           std::uint64_t grain = 1);

  std::shared_ptr<FeedRequest> request(const Piece& piece) override;
  const nn::MicroBatch* next(const std::shared_ptr<FeedRequest>& request) override;
  void close() override { closed_.store(true, std::memory_order_relaxed); }

 private:
  // A request, as far as it was given out.
  struct Walk {
    std::shared_ptr<FeedRequest> request;
    PieceParts parts;
    std::optional<SampleOrder> order{};
    Interval rest{};  // of the current part
  };
  bool begin_part();
  const nn::MicroBatch& fill();

  const KeptData& kept_;
  const DataSets data_;
  const std::uint64_t seed_, grain_;
  const BatchSizes sizes_;
  const std::uint32_t labels_each_, targets_each_;
  std::atomic<bool> closed_{false};  // only ever set; orders nothing else

  // Used by next().
  std::optional<Walk> walk_;
  std::vector<nn::KeptSample> samples_;
  std::vector<std::uint32_t> labels_;
  std::vector<float> targets_;
  std::vector<std::uint64_t> positions_;
  nn::MicroBatch batch_;
};

}  // namespace steelyard
