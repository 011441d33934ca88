// The feed: samples per second from files in the page cache to micro-batches in memory, read in the order of
// an epoch, normalised and augmented, by wall-clock time. The limit is memcpy of as many floats between
// buffers of the same sizes on as many threads, and for pictures a loop of libjpeg-turbo. First, samples are
// compared with their bytes, normalised one by one.
#include <cstdio>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "bench/feed/made_data.h"
#include "bench/sections.h"
#include "core/buffer.h"
#include "worker/compute/feed.h"

namespace steelyard::bench {
namespace {

constexpr std::uint32_t micro = 256;

// Reads epochs of training samples; two requests wait, as in a worker.
class Reader {
 public:
  Reader(const DataSets& data, std::uint64_t seed)
      : size_(data.train->size()), feed_(data, seed, {micro, 128, 64, 32, 16, 8, 4, 2, 1}) {
    request();
    request();
  }

  const nn::MicroBatch& next() {
    if (left_ == 0) {
      requests_.erase(requests_.begin());
      request();
      left_ = size_;
    }
    const nn::MicroBatch* const batch = feed_.next(requests_.front());
    expect(batch != nullptr, "feed: a micro-batch is missing");
    left_ -= batch->count;
    return *batch;
  }

  // Thousands of samples per second.
  double rate(double for_seconds) {
    std::uint64_t samples = 0;
    const Time start = steady_now();
    double taken = 0;
    for (; taken < for_seconds; taken = seconds(steady_now() - start)) samples += next().count;
    return static_cast<double>(samples) / taken * 1e-3;
  }

 private:
  void request() {
    const Piece epoch{.purpose = Purpose::train, .epoch = epoch_++, .positions = {0, size_}};
    requests_.push_back(feed_.request(epoch));
  }

  const std::uint64_t size_;
  std::uint64_t epoch_ = 0, left_ = size_;
  Feed feed_;
  std::vector<std::shared_ptr<FeedRequest>> requests_;
};

// Thousands of samples of so many floats per second that this many threads copy, from one buffer of as many
// micro-batches as the feed has to another.
double copied(std::uint64_t floats, unsigned threads, double for_seconds) {
  const std::size_t part = floats * micro, parts = Feed::ahead;
  std::vector<double> rates(threads);
  std::vector<std::jthread> all;
  for (unsigned thread = 0; thread < threads; ++thread) {
    all.emplace_back([&, thread] {
      FloatBuffer from(part * parts), to(part * parts);
      std::ranges::fill(from.span(), 1.0F);
      std::ranges::fill(to.span(), 0.0F);
      std::uint64_t samples = 0;
      double taken = 0;
      const Time start = steady_now();
      for (std::size_t at = 0; taken < for_seconds; at = (at + 1) % parts) {
        std::memcpy(to.data() + at * part, from.data() + at * part, part * sizeof(float));
        expect(to.data()[at * part] == 1.0F, "feed: memcpy does not copy");
        samples += micro;
        taken = seconds(steady_now() - start);
      }
      rates[thread] = static_cast<double>(samples) / taken * 1e-3;
    });
  }
  all.clear();
  double sum = 0;
  for (const double rate : rates) sum += rate;
  return sum;
}

void measure(const char* name, const MadeBytes& made, const Effort& effort, Table& table) {
  Reader reader(made.sets(), effort.seed);
  made.check(reader.next());
  const double reading = seconds(effort.reading);
  const std::uint64_t floats = made.sets().train->shape().size();
  const auto spreads = alternate(effort.pairs, {[&] { return reader.rate(reading); },
                                                [&] { return copied(floats, 1, reading); }});
  table.add({name, "k samples/s", spreads[0], "memcpy", spreads[1], false, {}});
}

void measure_pictures(const Effort& effort, Table& table) {
  const MadePictures made(1);
  Reader reader(made.sets(), effort.seed);
  const double reading = seconds(effort.reading);
  const auto bare = [&] {
    std::uint64_t decoded = 0;
    double taken = 0;
    const Time start = steady_now();
    for (; taken < reading; taken = seconds(steady_now() - start)) decoded += made.decode_bare();
    return static_cast<double>(decoded) / taken * 1e-3;
  };
  const auto spreads = alternate(effort.pairs, {[&] { return reader.rate(reading); }, bare});
  table.add({"JPEG 320 x 240 to 96 x 96", "k samples/s", spreads[0], "libjpeg-turbo", spreads[1], false, {}});
}

}  // namespace

void feed_section(const Effort& effort, Table& table) {
  table.section("feed: samples from files in memory, normalised and augmented");
  measure("CIFAR-10, crop and flip, one thread", MadeBytes::cifar(), effort, table);
  measure("MNIST, one thread", MadeBytes::mnist(), effort, table);
  measure_pictures(effort, table);
}

}  // namespace steelyard::bench
