#include "worker/compute/feed.h"

#include <algorithm>
#include <array>
#include <span>

#include "core/check.h"
#include "core/random.h"
#include "worker/data/samples.h"

namespace steelyard {

SampleOrder::SampleOrder(const DataSets& data, Purpose purpose, std::uint64_t seed, std::uint64_t epoch)
    : data_(purpose == Purpose::train ? data.train : data.test),
      name_(data.name),
      augmentation_(purpose == Purpose::train ? data.augmentation : Augmentation()),
      shuffled_(purpose == Purpose::train),
      seed_(seed),
      epoch_(epoch),
      permutation_(data_->size(), hash(seed, epoch)) {}

void SampleOrder::read(Position position, float* into, std::uint32_t* labels, float* targets,
                       float* scratch) const {
  read_sample(*data_, sample(position), into, labels, targets, [&] { return place(position); });
  if (augmentation_.any()) augment(augmentation_, data_->shape(), seed_, epoch_, position, into, scratch);
}

void SampleOrder::prepare(Interval positions) const {
  std::array<std::uint64_t, prepared> samples{};
  const std::size_t count = std::min(prepared, positions.size());
  for (std::size_t i = 0; i < count; ++i) samples[i] = sample(positions.begin + i);
  data_->prepare(std::span(samples).first(count));
}

std::string SampleOrder::place(Position position) const {
  return "data set '" + name_ + "', " + (shuffled_ ? "training" : "test") + " sample " +
         std::to_string(sample(position)) +
         (shuffled_
              ? " (position " + std::to_string(position) + " of epoch " + std::to_string(epoch_ + 1) + ")"
              : "");
}

BatchBuffer::BatchBuffer(nn::Shape shape, std::uint32_t labels, BatchSizes sizes, std::uint32_t targets)
    : sample_size_(shape.size()),
      labels_each_(labels),
      targets_each_(targets),
      sizes_(std::move(sizes)),
      inputs_(shape.size() * sizes_.largest()),
      scratch_(shape.size()),
      labels_(labels_each_ * sizes_.largest()),
      targets_(targets_each_ * sizes_.largest()),
      positions_(sizes_.largest()) {}

const nn::MicroBatch& BatchBuffer::fill(const SampleOrder& order, Interval positions) {
  // Callers have checked positions that come from another process.
  CHECK(positions.begin < positions.end && positions.end <= order.data().size(),
        "a micro-batch lies outside its data set");
  order.prepare(positions);
  const std::uint32_t size = sizes_.size_for(positions.size());
  const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(size, positions.size()));
  for (std::uint32_t i = 0; i < count; ++i) {
    positions_[i] = positions.begin + i;
    order.read(positions_[i], inputs_.data() + i * sample_size_, labels_.data() + i * labels_each_,
               targets_.data() + i * targets_each_, scratch_.data());
  }
  // Padding is always the same, so results do not depend on the buffer's previous use.
  for (std::uint32_t i = count; i < size; ++i) {
    positions_[i] = 0;
    std::fill_n(labels_.data() + i * labels_each_, labels_each_, 0U);
    std::fill_n(targets_.data() + i * targets_each_, targets_each_, 0.0F);
    std::fill_n(inputs_.data() + i * sample_size_, sample_size_, 0.0F);
  }
  batch_ = {.inputs = inputs_.data(),
            .labels = labels_.data(),
            .positions = positions_.data(),
            .size = size,
            .count = count,
            .seed = order.seed(),
            .epoch = order.epoch(),
            .targets = targets_each_ > 0 ? targets_.data() : nullptr};
  return batch_;
}

Feed::Feed(DataSets data, std::uint64_t seed, const BatchSizes& sizes, std::uint64_t grain)
    : data_(std::move(data)),
      seed_(seed),
      grain_(grain),
      requests_(most_requests),
      free_(ahead),
      ready_(ahead) {
  for (std::size_t i = 0; i < ahead; ++i) {
    const DataSet& train = *data_.train;
    buffers_.push_back(std::make_unique<BatchBuffer>(train.shape(), train.labels(), sizes, train.targets()));
    free_.push(buffers_.back().get());
  }
  thread_ = std::thread([this] { run(); });
}

Feed::~Feed() {
  close();
  thread_.join();
}

// Closed queues block no thread: the feed's thread ends at its next push or pop.
void Feed::close() {
  requests_.close();
  free_.close();
  ready_.close();
}

std::shared_ptr<FeedRequest> Feed::request(const Piece& piece) {
  const DataSet& data = piece.purpose == Purpose::train ? *data_.train : *data_.test;
  CHECK(piece.positions.begin < piece.positions.end && piece.positions.end <= data.size(),
        "a request lies outside its data set");
  auto request = std::make_shared<FeedRequest>(piece);
  requests_.push(request);
  return request;
}

// Micro-batches come in the order of requests, and a cancelled request ends with an entry without a buffer:
// anything queued before this request belongs to an earlier one that was dropped.
const nn::MicroBatch* Feed::next(const std::shared_ptr<FeedRequest>& request) {
  if (given_) free_.push(std::exchange(given_, nullptr));
  while (!request->cancelled()) {
    const std::optional<Prepared> prepared = ready_.pop();
    if (!prepared && failure_) throw Failure(*failure_);
    if (!prepared) return nullptr;
    if (prepared->request == request) {
      given_ = prepared->buffer;
      return given_ ? &given_->batch() : nullptr;
    }
    if (prepared->buffer) free_.push(prepared->buffer);
  }
  return nullptr;
}

void Feed::run() {
  try {
    while (serve_next()) {
    }
  } catch (const Failure& failure) {
    failure_ = failure;
    close();
  }
}

bool Feed::serve_next() {
  const auto request = requests_.pop();
  return request && serve(*request);
}

// False once the feed is closed.
bool Feed::serve(const std::shared_ptr<FeedRequest>& request) {
  const Piece& piece = request->piece;
  // Without local steps the piece is one step.
  const LocalSteps local{std::max<std::uint64_t>(1, piece.local.steps), 1, piece.local.batch};
  const std::uint64_t steps = steps_of(local, piece.positions.size());
  for (std::uint64_t pass = 0; pass < piece.local.passes; ++pass) {
    const SampleOrder order(data_, piece.purpose, seed_, piece.epoch + pass);
    for (std::uint64_t step = 0; step < steps && !request->cancelled(); ++step) {
      if (!serve(request, order, part_of(piece.positions, step, local, grain_))) return false;
    }
  }
  // Wakes a next() that waits for a micro-batch of the cancelled request.
  return !request->cancelled() || ready_.push({request, nullptr});
}

bool Feed::serve(const std::shared_ptr<FeedRequest>& request, const SampleOrder& order, Interval rest) {
  while (!rest.empty() && rest.begin < request->end() && !request->cancelled()) {
    if (!spare_) {
      const std::optional<BatchBuffer*> buffer = free_.pop();
      if (!buffer) return false;
      spare_ = *buffer;
      continue;  // the wait may have been long: check again for cancellation
    }
    rest.begin += spare_->fill(order, rest).count;
    if (!ready_.push({request, std::exchange(spare_, nullptr)})) return false;
  }
  return true;
}

}  // namespace steelyard
