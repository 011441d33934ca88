#include "worker/compute/feed.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "worker/compute/piece_parts.h"

namespace steelyard {

Feed::Slot::Slot(const DataSet& data, const BatchSizes& sizes)
    : buffer(data.shape(), data.labels(), sizes, data.targets()),
      outcomes_((sizes.largest() + part_size - 1) / part_size),
      unfinished_(0) {}

void Feed::Slot::expect_parts(std::uint32_t count) {
  std::ranges::fill(outcomes_, Outcome());
  unfinished_.store(count, std::memory_order_relaxed);  // the queues publish it
}

void Feed::Slot::fail(std::uint32_t index, const Failure& failure) {
  outcomes_[index].failure = failure;
  finish(index, State::dropped);
}

void Feed::Slot::finish(std::uint32_t index, State state) {
  outcomes_[index].state = state;
  if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished_.notify_one();
}

bool Feed::Slot::wait() const {
  for (std::uint32_t left = 0; (left = unfinished_.load(std::memory_order_acquire)) > 0;)
    unfinished_.wait(left, std::memory_order_acquire);
  for (const Outcome& part : outcomes_) {
    if (part.failure) throw Failure(*part.failure);
  }
  return std::ranges::all_of(outcomes_, [](const Outcome& part) { return part.state == State::read; });
}

Feed::Feed(DataSets data, std::uint64_t seed, const BatchSizes& sizes, std::uint64_t grain, unsigned threads)
    : data_(std::move(data)),
      seed_(seed),
      grain_(grain),
      threads_(threads),
      requests_(most_requests),
      free_(ahead),
      ready_(ahead),
      parts_(ahead * (sizes.largest() / part_size + 1)),
      scratch_(data_.train->shape().size()) {
  CHECK(threads > 0, "a feed without a thread");
  for (std::size_t i = 0; i < ahead; ++i) {
    slots_.push_back(std::make_unique<Slot>(*data_.train, sizes));
    free_.push(slots_.back().get());
  }
  for (unsigned i = 0; threads > 1 && i < threads; ++i) readers_.emplace_back([this] { run_reader(); });
  thread_ = std::thread([this] { run(); });
}

unsigned Feed::threads_for(WorkPlace place, unsigned cores) {
  return place == WorkPlace::other_device ? std::clamp(cores, 1U, most_threads) : 1;
}

Feed::~Feed() {
  close();
  thread_.join();
  for (std::thread& reader : readers_) reader.join();
}

// Closed queues block no thread: the feed's thread ends at its next push or pop, and readers once they have
// dropped the parts that are left.
void Feed::close() {
  closed_.store(true, std::memory_order_relaxed);
  requests_.close();
  free_.close();
  ready_.close();
  parts_.close();
}

std::shared_ptr<FeedRequest> Feed::request(const Piece& piece) {
  const DataSet& data = piece.purpose == Purpose::train ? *data_.train : *data_.test;
  CHECK(piece.positions.begin < piece.positions.end && piece.positions.end <= data.size(),
        "a request lies outside its data set");
  auto request = std::make_shared<FeedRequest>(piece);
  requests_.push(request);
  return request;
}

// Micro-batches come in the order of requests, and a cancelled request ends with an entry without a slot:
// anything queued before this request belongs to an earlier one that was dropped.
const nn::MicroBatch* Feed::next(const std::shared_ptr<FeedRequest>& request) {
  if (failure_) throw Failure(*failure_);
  if (given_) free_.push(std::exchange(given_, nullptr));
  while (!request->cancelled()) {
    const std::optional<Prepared> prepared = ready_.pop();
    if (!prepared) return nullptr;
    if (prepared->slot == nullptr) {
      if (prepared->request == request) return nullptr;
      continue;
    }
    const bool complete = wait_for(*prepared->slot);
    if (prepared->request == request) {
      given_ = prepared->slot;
      return complete ? &given_->buffer.batch() : nullptr;
    }
    free_.push(prepared->slot);
  }
  return nullptr;
}

bool Feed::wait_for(const Slot& slot) {
  try {
    return slot.wait();
  } catch (const Failure& failure) {
    failure_ = failure;
    throw;
  }
}

// ---- the feed's thread

void Feed::run() {
  while (serve_next()) {
  }
  ready_.close();
  parts_.close();
}

// False once the feed is closed, or reading has failed.
bool Feed::serve_next() {
  const auto request = requests_.pop();
  return request && serve(*request);
}

bool Feed::serve(const std::shared_ptr<FeedRequest>& request) {
  const Piece& piece = request->piece;
  PieceParts parts(piece, grain_);
  std::shared_ptr<const SampleOrder> order;
  while (!request->cancelled()) {
    const std::optional<PieceParts::Part> part = parts.next();
    if (!part) break;
    if (!order || order->epoch() != part->epoch)
      order = std::make_shared<const SampleOrder>(data_, piece.purpose, seed_, part->epoch);
    if (!serve(request, order, part->positions)) return false;
  }
  // Wakes a next() that waits for a micro-batch of the cancelled request.
  return !request->cancelled() || ready_.push({request, nullptr});
}

bool Feed::serve(const std::shared_ptr<FeedRequest>& request, const std::shared_ptr<const SampleOrder>& order,
                 Interval rest) {
  while (!rest.empty() && rest.begin < request->end() && !request->cancelled()) {
    if (!spare_) {
      const std::optional<Slot*> slot = free_.pop();
      if (!slot) return false;
      spare_ = *slot;
      continue;  // the wait may have been long: check again for cancellation
    }
    const std::uint32_t count = serve_one(request, order, rest);
    if (count == 0) return false;
    rest.begin += count;
  }
  return true;
}

// The number of samples of the micro-batch; 0 if the feed is closed.
std::uint32_t Feed::serve_one(const std::shared_ptr<FeedRequest>& request,
                              const std::shared_ptr<const SampleOrder>& order, Interval rest) {
  Slot& slot = *std::exchange(spare_, nullptr);
  const std::uint32_t count = slot.buffer.begin(*order, rest).count;
  const std::uint32_t parts = (count + part_size - 1) / part_size;
  slot.expect_parts(parts);
  if (!ready_.push({request, &slot})) return 0;
  for (std::uint32_t i = 0; i < parts; ++i) {
    const Part part{request, order, rest, &slot, i, i * part_size, std::min(count, (i + 1) * part_size)};
    if (threads_ == 1) {
      read(part, scratch_.data());
    } else if (!parts_.push(part)) {
      slot.drop(i);
    }
  }
  return count;
}

// ---- readers

void Feed::run_reader() {
  std::vector<float> scratch(scratch_.size());
  while (const std::optional<Part> part = parts_.pop()) read(*part, scratch.data());
}

// After a failure the feed's thread prepares no more; what it has prepared before is still read.
void Feed::read(const Part& part, float* scratch) {
  if (closed_.load(std::memory_order_relaxed) || part.request->cancelled())
    return part.slot->drop(part.index);
  try {
    part.slot->buffer.read(*part.order, part.positions, part.begin, part.end, scratch);
  } catch (const Failure& failure) {
    requests_.close();
    free_.close();
    return part.slot->fail(part.index, failure);
  }
  part.slot->read(part.index);
}

}  // namespace steelyard
