// The feed: samples per second from files in the page cache to micro-batches in memory, read in the order of
// an epoch, normalised and augmented. The limit is memcpy of as many floats between buffers of the same sizes
// on as many threads, and for pictures a loop of libjpeg-turbo. One thread is measured by its CPU time;
// several, with the queues between them, by wall-clock time. First, samples are compared with their bytes,
// normalised one by one.
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bench/feed/made_data.h"
#include "bench/sections.h"
#include "core/buffer.h"
#include "worker/compute/feed.h"

namespace steelyard::bench {
namespace {

constexpr std::uint32_t micro = 256;

const std::vector<std::uint32_t> sizes{micro, 128, 64, 32, 16, 8, 4, 2, 1};

// Thousands of samples per second, by this clock; once() returns its samples.
double rate(Duration (*clock)(), double for_seconds, const std::function<std::uint64_t()>& once) {
  std::uint64_t samples = 0;
  double taken = 0;
  const Duration start = clock();
  for (; taken < for_seconds; taken = seconds(clock() - start)) samples += once();
  return static_cast<double>(samples) / taken * 1e-3;
}

Duration wall_time() { return steady_now().since_origin; }

// What one thread does, epoch by epoch, into as many buffers as a feed has.
class Reading {
 public:
  Reading(const DataSets& data, std::uint64_t seed) : data_(data), seed_(seed) {
    const DataSet& train = *data.train;
    for (std::size_t i = 0; i < Feed::ahead; ++i)
      buffers_.push_back(std::make_unique<BatchBuffer>(train.shape(), train.labels(), sizes));
  }

  const nn::MicroBatch& next() {
    if (rest_.empty()) {
      order_.emplace(data_, Purpose::train, seed_, epoch_++);
      rest_ = {0, data_.train->size()};
    }
    const nn::MicroBatch& batch = buffers_[turn_ = (turn_ + 1) % Feed::ahead]->fill(*order_, rest_);
    rest_.begin += batch.count;
    return batch;
  }

 private:
  const DataSets data_;
  const std::uint64_t seed_;
  std::uint64_t epoch_ = 0;
  std::vector<std::unique_ptr<BatchBuffer>> buffers_;
  std::size_t turn_ = 0;
  std::optional<SampleOrder> order_;
  Interval rest_{};
};

// The same by a feed; two requests wait, as in a worker.
class Feeding {
 public:
  Feeding(const DataSets& data, std::uint64_t seed, unsigned threads)
      : size_(data.train->size()), left_(size_), feed_(data, seed, sizes, 1, threads) {
    for (auto& request : requests_) request = feed_.request(epoch());
  }

  const nn::MicroBatch& next() {
    if (left_ == 0) {
      requests_ = {requests_[1], feed_.request(epoch())};
      left_ = size_;
    }
    const nn::MicroBatch* const batch = feed_.next(requests_[0]);
    expect(batch != nullptr, "feed: a micro-batch is missing");
    left_ -= batch->count;
    return *batch;
  }

 private:
  Piece epoch() { return {.purpose = Purpose::train, .epoch = epoch_++, .positions = {0, size_}}; }

  const std::uint64_t size_;
  std::uint64_t epoch_ = 0, left_;
  Feed feed_;
  std::array<std::shared_ptr<FeedRequest>, 2> requests_;
};

// memcpy of samples between two buffers, each with as many micro-batches as a feed has.
class Copying {
 public:
  explicit Copying(std::uint64_t floats)
      : part_(floats * micro), from_(part_ * Feed::ahead), to_(part_ * Feed::ahead) {
    std::ranges::fill(from_.span(), 1.0F);
    std::ranges::fill(to_.span(), 0.0F);
  }
  std::uint64_t once() {
    float* const to = to_.data() + turn_ * part_;
    std::memcpy(to, from_.data() + turn_ * part_, part_ * sizeof(float));
    expect(to[0] == 1.0F, "feed: memcpy does not copy");
    turn_ = (turn_ + 1) % Feed::ahead;
    return micro;
  }

 private:
  const std::size_t part_;
  FloatBuffer from_, to_;
  std::size_t turn_ = 0;
};

double copied_by(unsigned threads, std::uint64_t floats, double for_seconds) {
  std::vector<double> rates(threads);
  std::vector<std::jthread> all;
  for (double& its : rates) {
    all.emplace_back([floats, for_seconds, &its] {
      Copying copying(floats);
      its = rate(wall_time, for_seconds, [&] { return copying.once(); });
    });
  }
  all.clear();
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

void measure(const std::string& name, const MadeBytes& made, const Effort& effort, Table& table) {
  Reading one(made.sets(), effort.seed);
  Feeding two(made.sets(), effort.seed, 2);
  made.check(one.next());
  made.check(two.next());
  const double reading = seconds(effort.reading);
  const std::uint64_t floats = made.sets().train->shape().size();
  Copying copying(floats);
  const auto spreads = alternate(
      effort.pairs, {[&] { return rate(thread_cpu_time, reading, [&] { return one.next().count; }); },
                     [&] { return rate(thread_cpu_time, reading, [&] { return copying.once(); }); },
                     [&] { return rate(wall_time, reading, [&] { return two.next().count; }); },
                     [&] { return copied_by(2, floats, reading); }});
  table.add({name + ", one thread", "k samples/s", spreads[0], "memcpy", spreads[1], false, {}});
  table.add({name + ", a feed of two", "k samples/s", spreads[2], "memcpy by two", spreads[3], false, {}});
}

void measure_pictures(const Effort& effort, Table& table) {
  const MadePictures made;
  Reading one(made.sets(), effort.seed);
  const double reading = seconds(effort.reading);
  const auto spreads = alternate(
      effort.pairs, {[&] { return rate(thread_cpu_time, reading, [&] { return one.next().count; }); },
                     [&] { return rate(thread_cpu_time, reading, [&] { return made.decode_bare(); }); }});
  table.add({"JPEG 320 x 240 to 96 x 96, one thread",
             "k samples/s",
             spreads[0],
             "libjpeg-turbo",
             spreads[1],
             false,
             {}});
}

}  // namespace

void feed_section(const Effort& effort, Table& table) {
  table.section("feed: samples from files in memory, normalised and augmented");
  measure("CIFAR-10, crop and flip", MadeBytes::cifar(), effort, table);
  measure("MNIST", MadeBytes::mnist(), effort, table);
  measure_pictures(effort, table);
}

}  // namespace steelyard::bench
