// Pools: bound by memory. nn/cuda/windows.h computes the windows of a place.
#include "core/error.h"
#include "nn/cuda/context.h"
#include "nn/cuda/sweeps.h"
#include "nn/cuda/windows.h"

namespace steelyard::nn::cuda {

// Average pool: in both directions a thread writes some neighbouring channels of one place, and gathers from
// the windows there.
namespace {

// Sums over a window, or, `back`, over the windows that cover a place.
template <unsigned n, bool back, class T>
__global__ void average(Windows all, float share, const T* from, bool add, T* to) {
  const std::uint32_t height = back ? all.height : all.out_height, width = back ? all.width : all.out_width;
  const std::uint32_t from_height = back ? all.out_height : all.height;
  const std::uint32_t from_width = back ? all.out_width : all.width;
  const unsigned i = n * thread_in_sample();
  if (i >= height * width * all.channels) return;
  const Spot spot = spot_of(i, width, all.channels);
  const auto meets = back ? &windows_over : &places_in;
  const Range rows = meets(all, spot.row, from_height), columns = meets(all, spot.column, from_width);
  const std::uint64_t sample = blockIdx.y;
  const T* const picture = from + sample * from_height * from_width * all.channels + spot.channel;
  T* const at = to + sample * height * width * all.channels + i;
  float sums[n] = {};
  for (std::uint32_t row = rows.begin; row < rows.end; ++row) {
    for (std::uint32_t column = columns.begin; column < columns.end; ++column) {
      const Pack<n> value = load<n>(picture + std::uint64_t{row * from_width + column} * all.channels);
      for (unsigned k = 0; k < n; ++k) sums[k] += value.x[k];
    }
  }
  Pack<n> result = add ? load<n>(at) : Pack<n>{};
  for (unsigned k = 0; k < n; ++k) result.x[k] += sums[k] * share;
  store<n>(at, result);
}

template <class T>
class AveragePoolOp final : public CudaOp {
 public:
  AveragePoolOp(const AveragePool& op, const OpPlace& place, const Context& context)
      : CudaOp(context),
        windows_(windows_of(op, place)),
        share_(static_cast<float>(1 / (1.0 * op.size * op.size))),
        in_(place.inputs[0].size()),
        out_(place.output.size()) {}

  void forward(const Pass& pass, const Forward& untyped) override {
    const ForwardOf<T> call(untyped);
    with_packs(can_pack(windows_.channels, call.inputs[0], call.output), [&](auto n) {
      launch_in_samples(context_.stream, pass.size(), out_ / n, &average<n, false, T>, windows_, share_,
                        call.inputs[0], false, call.output);
    });
  }

  void backward(const Pass& pass, const Backward& untyped) override {
    const BackwardOf<T> call(untyped);
    const GradientOf<T> d_input = call.d_inputs[0];
    if (d_input.to == nullptr) return;
    with_packs(can_pack(windows_.channels, d_input.to, call.d_output), [&](auto n) {
      launch_in_samples(context_.stream, pass.size(), in_ / n, &average<n, true, T>, windows_, share_,
                        call.d_output, d_input.add, d_input.to);
    });
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false, .adds = true}; }

 private:
  Windows windows_;
  float share_;
  std::uint64_t in_, out_;  // numbers per sample
};

// Max pool: the input is read once, forward. The place of each maximum is stored, in two bytes per output
// value, so that backward reads neither input nor output: a thread has some neighbouring channels of one
// place and gathers from the windows that cover it, which needs no atomics for overlapping windows.

// The place in its window: row * size + column.
using PlaceInWindow = std::uint16_t;
constexpr std::uint32_t largest_window = 256;

// `kept` may be null.
template <unsigned n, class T>
__global__ void greatest(Windows all, const T* in, T* out, PlaceInWindow* kept) {
  const unsigned i = n * thread_in_sample(), numbers = all.out_height * all.out_width * all.channels;
  if (i >= numbers) return;
  const Spot spot = spot_of(i, all.out_width, all.channels);
  const Range rows = places_in(all, spot.row, all.height), columns = places_in(all, spot.column, all.width);
  const T* const picture =
      in + std::uint64_t{blockIdx.y} * all.height * all.width * all.channels + spot.channel;
  // The first of equal values, or the first NaN.
  Pack<n> best;
  std::uint32_t best_at[n];
  for (unsigned k = 0; k < n; ++k) best.x[k] = -INFINITY, best_at[k] = largest_window * largest_window;
  for (std::uint32_t row = rows.begin; row < rows.end; ++row) {
    for (std::uint32_t column = columns.begin; column < columns.end; ++column) {
      const std::uint32_t at = (row + all.padding - spot.row * all.stride) * all.size + column + all.padding -
                               spot.column * all.stride;
      const Pack<n> value = load<n>(picture + std::uint64_t{row * all.width + column} * all.channels);
      for (unsigned k = 0; k < n; ++k) {
        const bool none = best_at[k] == largest_window * largest_window;
        const bool takes = none || (best.x[k] == best.x[k] && !(value.x[k] <= best.x[k]));
        best.x[k] = takes ? value.x[k] : best.x[k];
        best_at[k] = takes ? at : best_at[k];
      }
    }
  }
  const std::uint64_t to = std::uint64_t{blockIdx.y} * numbers + i;
  store<n>(out + to, best);
  for (unsigned k = 0; k < n && kept != nullptr; ++k) kept[to + k] = static_cast<PlaceInWindow>(best_at[k]);
}

template <unsigned n, class T>
__global__ void give_back(Windows all, const PlaceInWindow* kept, const T* d_out, bool add, T* d_in) {
  const unsigned i = n * thread_in_sample(), numbers = all.height * all.width * all.channels;
  if (i >= numbers) return;
  const Spot spot = spot_of(i, all.width, all.channels);
  const Range rows = windows_over(all, spot.row, all.out_height);
  const Range columns = windows_over(all, spot.column, all.out_width);
  const std::uint64_t to = std::uint64_t{blockIdx.y} * numbers + i;
  const std::uint64_t sample = std::uint64_t{blockIdx.y} * all.out_height * all.out_width * all.channels;
  Pack<n> sum = add ? load<n>(d_in + to) : Pack<n>{};
  for (std::uint32_t row = rows.begin; row < rows.end; ++row) {
    for (std::uint32_t column = columns.begin; column < columns.end; ++column) {
      const std::uint32_t at = (spot.row + all.padding - row * all.stride) * all.size + spot.column +
                               all.padding - column * all.stride;
      const std::uint64_t from =
          sample + std::uint64_t{row * all.out_width + column} * all.channels + spot.channel;
      const Pack<n> d = load<n>(d_out + from);
      for (unsigned k = 0; k < n; ++k) sum.x[k] += kept[from + k] == at ? d.x[k] : 0;
    }
  }
  store<n>(d_in + to, sum);
}

template <class T>
class MaxPoolOp final : public CudaOp {
 public:
  MaxPoolOp(const MaxPool& op, const OpPlace& place, const Context& context)
      : CudaOp(context),
        windows_(windows_of(op, place)),
        in_(place.inputs[0].size()),
        out_(place.output.size()),
        kept_(out_ * place.micro_batch) {}

  void forward(const Pass& pass, const Forward& untyped) override {
    const ForwardOf<T> call(untyped);
    with_packs(can_pack(windows_.channels, call.inputs[0], call.output), [&](auto n) {
      launch_in_samples(context_.stream, pass.size(), out_ / n, &greatest<n, T>, windows_, call.inputs[0],
                        call.output, pass.training ? kept_.data() : nullptr);
    });
  }

  void backward(const Pass& pass, const Backward& untyped) override {
    const BackwardOf<T> call(untyped);
    const GradientOf<T> d_input = call.d_inputs[0];
    if (d_input.to == nullptr) return;
    with_packs(can_pack(windows_.channels, d_input.to, call.d_output), [&](auto n) {
      launch_in_samples(context_.stream, pass.size(), in_ / n, &give_back<n, T>, windows_, kept_.data(),
                        call.d_output, d_input.add, d_input.to);
    });
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false, .adds = true}; }
  [[nodiscard]] std::uint64_t bytes() const override { return kept_.size() * sizeof(PlaceInWindow); }

 private:
  Windows windows_;
  std::uint64_t in_, out_;  // numbers per sample
  DeviceArray<PlaceInWindow> kept_;
};

// Means of channels: each number is read or written once.

struct Itself {
  __device__ float operator()(float x) const { return x; }
};
struct Share {
  float share;
  __device__ float operator()(float d) const { return share * d; }
};
struct AddedShare {
  float share;
  __device__ float operator()(float d, float before) const { return before + share * d; }
};

template <class T>
class GlobalAveragePoolOp final : public CudaOp {
 public:
  GlobalAveragePoolOp(const GlobalAveragePool& /*op*/, const OpPlace& place, const Context& context)
      : CudaOp(context),
        places_(pixels_of(place.inputs[0])),
        channels_(place.inputs[0].channels),
        share_(static_cast<float>(1 / static_cast<double>(places_))) {}

  void forward(const Pass& pass, const Forward& untyped) override {
    const ForwardOf<T> call(untyped);
    channel_sums(context_.stream, {pass.size(), places_, channels_}, Itself(), share_, false, call.output,
                 call.inputs[0]);
  }

  void backward(const Pass& pass, const Backward& untyped) override {
    const BackwardOf<T> call(untyped);
    const auto [to, add] = call.d_inputs[0];
    if (to == nullptr) return;
    const Places places{pass.size(), places_, channels_};
    if (add) {
      by_channel(context_.stream, places, AddedShare{share_}, call.d_output, to, to);
    } else {
      by_channel(context_.stream, places, Share{share_}, call.d_output, to);
    }
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false, .adds = true}; }

 private:
  std::uint64_t places_;
  std::uint32_t channels_;
  float share_;
};

}  // namespace

std::unique_ptr<Op> make(const MaxPool& op, const OpPlace& place, const Context& context) {
  if (op.size > largest_window) {
    throw Failure(ExitCode::configuration, "has windows of size " + std::to_string(op.size) + ": at most " +
                                               std::to_string(largest_window) +
                                               " are possible; pool twice instead");
  }
  return in_storage(place.storage, [&](auto number) -> std::unique_ptr<Op> {
    return std::make_unique<MaxPoolOp<decltype(number)>>(op, place, context);
  });
}

STEELYARD_STORED_OP(AveragePool, AveragePoolOp)
STEELYARD_STORED_OP(GlobalAveragePool, GlobalAveragePoolOp)

}  // namespace steelyard::nn::cuda
