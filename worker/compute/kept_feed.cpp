#include "worker/compute/kept_feed.h"

#include <algorithm>
#include <utility>

#include "core/check.h"

namespace steelyard {

KeptFeed::KeptFeed(const KeptData& kept, DataSets data, std::uint64_t seed, BatchSizes sizes,
                   std::uint64_t grain)
    : kept_(kept),
      data_(std::move(data)),
      seed_(seed),
      grain_(grain),
      sizes_(std::move(sizes)),
      labels_each_(data_.train->labels()),
      targets_each_(data_.train->targets()),
      samples_(sizes_.largest()),
      labels_(std::size_t{labels_each_} * sizes_.largest()),
      targets_(std::size_t{targets_each_} * sizes_.largest()),
      positions_(sizes_.largest()) {}

std::shared_ptr<FeedRequest> KeptFeed::request(const Piece& piece) {
  const DataSet& data = piece.purpose == Purpose::train ? *data_.train : *data_.test;
  CHECK(piece.positions.begin < piece.positions.end && piece.positions.end <= data.size(),
        "a request lies outside its data set");
  return std::make_shared<FeedRequest>(piece);
}

const nn::MicroBatch* KeptFeed::next(const std::shared_ptr<FeedRequest>& request) {
  if (!walk_ || walk_->request != request) walk_.emplace(Walk{request, PieceParts(request->piece, grain_)});
  while (walk_->rest.empty() || walk_->rest.begin >= request->end()) {
    if (!begin_part()) return nullptr;
  }
  if (closed_.load(std::memory_order_relaxed) || request->cancelled()) return nullptr;
  return &fill();
}

// False at the end of the piece.
bool KeptFeed::begin_part() {
  const std::optional<PieceParts::Part> part = walk_->parts.next();
  if (!part) return false;
  if (!walk_->order || walk_->order->epoch() != part->epoch)
    walk_->order.emplace(data_, walk_->request->piece.purpose, seed_, part->epoch);
  walk_->rest = part->positions;
  return true;
}

const nn::MicroBatch& KeptFeed::fill() {
  const SampleOrder& order = *walk_->order;
  Interval& rest = walk_->rest;
  const std::uint32_t size = sizes_.size_for(rest.size());
  const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(size, rest.size()));
  for (std::uint32_t i = 0; i < count; ++i) {
    const Position position = rest.begin + i;
    positions_[i] = position;
    samples_[i] = kept_.sample(walk_->request->piece.purpose, order.sample(position), order.window(position));
    kept_.labels(samples_[i], labels_.data() + std::size_t{labels_each_} * i);
    kept_.targets(samples_[i], targets_.data() + std::size_t{targets_each_} * i);
  }
  // Padding is always the same, as in BatchBuffer.
  std::fill(samples_.begin() + count, samples_.begin() + size, nn::KeptSample());
  std::fill(positions_.begin() + count, positions_.begin() + size, 0);
  std::fill(labels_.begin() + std::ptrdiff_t{labels_each_} * count,
            labels_.begin() + std::ptrdiff_t{labels_each_} * size, 0U);
  std::fill(targets_.begin() + std::ptrdiff_t{targets_each_} * count,
            targets_.begin() + std::ptrdiff_t{targets_each_} * size, 0.0F);
  rest.begin += count;
  batch_ = {.labels = labels_.data(),
            .positions = positions_.data(),
            .size = size,
            .count = count,
            .seed = seed_,
            .epoch = order.epoch(),
            .targets = targets_each_ > 0 ? targets_.data() : nullptr,
            .kept = samples_.data()};
  return batch_;
}

}  // namespace steelyard
