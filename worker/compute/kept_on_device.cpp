#include "worker/compute/kept_on_device.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "core/error.h"
#include "worker/data/samples.h"
#include "worker/data/value_codes.h"

namespace steelyard {
namespace {

constexpr std::uint32_t most_channels = 1024;  // each has a table
constexpr std::uint64_t together = 64;         // samples
static_assert(ValueCodes::most == nn::cuda::codes_each);

std::string megabytes(std::uint64_t bytes) { return std::to_string((bytes + 999'999) / 1'000'000) + " MB"; }

std::uint64_t samples_of(const DataSets& data) {
  return data.train->size() + (data.test ? data.test->size() : 0);
}

// Of labels and targets, and one of each number of the sample.
std::uint64_t bytes_each(const DataSet& data) {
  return data.shape().size() + sizeof(std::uint32_t) * data.labels() + sizeof(float) * data.targets();
}

// Why they are not kept, as far as their sizes tell; empty: they may be.
std::string too_large(const DataSets& data, std::uint64_t room, std::uint64_t most) {
  const std::uint64_t each = bytes_each(*data.train), samples = samples_of(data);
  if (samples > most / each)
    return "they would take more than " + megabytes(most) + " of the device's memory as bytes";
  if (samples * each > room)
    return "they would take " + megabytes(samples * each) + " as bytes, and the device has " +
           megabytes(room) + " for them";
  if (data.train->shape().channels > most_channels)
    return "they have more than " + std::to_string(most_channels) + " channels";
  if (data.augmentation.crop > std::numeric_limits<std::int16_t>::max()) return "their windows are too large";
  return {};
}

class Packing {
 public:
  Packing(const DataSets& data, unsigned index, const KeepLimits& limits)
      : data_(data),
        limits_(limits),
        end_(limits.clock() + limits.time),
        codes_(data.train->shape().channels),
        to_(std::make_shared<nn::cuda::KeptSamples>(index, data.train->shape(), samples_of(data))) {
    labels_.reserve(samples_of(data) * data.train->labels());
    targets_.reserve(samples_of(data) * data.train->targets());
  }

  // Why not; empty: it did.
  std::string pack() {
    for (const DataSet* set : {data_.train.get(), data_.test.get()}) {
      for (std::uint64_t first = 0; set != nullptr && first < set->size(); first += together) {
        if (limits_.clock() > end_)
          return "reading them all takes longer than " +
                 std::to_string(std::chrono::duration_cast<std::chrono::seconds>(limits_.time).count()) +
                 " seconds";
        if (!pack(*set, first, std::min(together, set->size() - first)))
          return "a channel has more than " + std::to_string(ValueCodes::most) + " different numbers";
      }
    }
    std::vector<float> fill = data_.augmentation.fill;
    fill.resize(data_.train->shape().channels);
    to_->set_numbers(codes_.table(), fill);
    return {};
  }

  [[nodiscard]] KeptOnDevice done() {
    const std::string note = "keeps all samples on the device, in " + megabytes(to_->bytes());
    return {std::make_unique<const KeptData>(data_, std::move(labels_), std::move(targets_)), to_, note};
  }

 private:
  bool pack(const DataSet& set, std::uint64_t first, std::uint64_t count) {
    std::vector<std::uint64_t> next(std::min(2 * together, set.size() - first));
    std::iota(next.begin(), next.end(), first);
    set.prepare(next);
    const std::uint64_t floats = set.shape().size();
    numbers_.resize(count * floats);
    bytes_.resize(count * floats);
    const std::size_t labels = labels_.size(), targets = targets_.size();
    labels_.resize(labels + count * set.labels());
    targets_.resize(targets + count * set.targets());
    for (std::uint64_t i = 0; i < count; ++i) {
      read_sample(set, first + i, numbers_.data() + i * floats, labels_.data() + labels + i * set.labels(),
                  targets_.data() + targets + i * set.targets(),
                  [&] { return "sample " + std::to_string(first + i); });
    }
    if (!codes_.encode(numbers_, bytes_.data())) return false;
    to_->bring(brought_, bytes_);
    brought_ += count;
    return true;
  }

  const DataSets& data_;
  const KeepLimits& limits_;
  const Time end_;
  ValueCodes codes_;
  const std::shared_ptr<nn::cuda::KeptSamples> to_;
  std::vector<std::uint32_t> labels_;
  std::vector<float> targets_;
  std::vector<float> numbers_;       // of some samples
  std::vector<std::uint8_t> bytes_;  // of the same
  std::uint64_t brought_ = 0;        // samples
};

}  // namespace

KeptOnDevice keep_on_device(const DataSets& data, unsigned index, std::uint64_t reserved,
                            const KeepLimits& limits) {
  const auto on_the_host = [](const std::string& why) {
    return KeptOnDevice{nullptr, nullptr, "copies samples from the host: " + why};
  };
  std::string why = too_large(data, nn::cuda::KeptSamples::room_on(index, reserved), limits.bytes);
  if (!why.empty()) return on_the_host(why);
  try {
    Packing packing(data, index, limits);
    why = packing.pack();
    return why.empty() ? packing.done() : on_the_host(why);
  } catch (const Failure& failure) {
    return on_the_host(failure.what());
  }
}

}  // namespace steelyard
