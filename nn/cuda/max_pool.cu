// Bound by memory: the input is read once, forward. Where the greatest were is kept, in two bytes for each
// number of the output, so that backward reads neither input nor output: a thread has some neighbouring
// channels of one place and gathers from the windows over it, which needs no atomics where windows overlap.
#include "core/error.h"
#include "nn/cuda/in_samples.h"
#include "nn/cuda/ops.h"
#include "nn/cuda/windows.h"

namespace steelyard::nn::cuda {
namespace {

// In its window: row * size + column.
using PlaceInWindow = std::uint16_t;
constexpr std::uint32_t largest_window = 256;

// `kept` may be null.
template <unsigned n>
__global__ void greatest(Windows all, const float* in, float* out, PlaceInWindow* kept) {
  const unsigned i = n * thread_in_sample(), numbers = all.out_height * all.out_width * all.channels;
  if (i >= numbers) return;
  const Spot spot = spot_of(i, all.out_width, all.channels);
  const Range rows = places_in(all, spot.row, all.height), columns = places_in(all, spot.column, all.width);
  const float* const picture =
      in + std::uint64_t{blockIdx.y} * all.height * all.width * all.channels + spot.channel;
  // The first of equals, and the first NaN if there is one.
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

template <unsigned n>
__global__ void give_back(Windows all, const PlaceInWindow* kept, const float* d_out, bool add, float* d_in) {
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

class MaxPoolOp final : public Op {
 public:
  MaxPoolOp(const MaxPool& op, const OpPlace& place, const Context& context)
      : windows_(windows_of(op, place)),
        in_(place.inputs[0].size()),
        out_(place.output.size()),
        kept_(out_ * place.micro_batch),
        context_(context) {}

  void forward(const Pass& pass, const Forward& call) override {
    with_packs(can_pack(windows_.channels, call.inputs[0], call.output), [&](auto n) {
      launch_in_samples(context_.stream, pass.size(), out_ / n, &greatest<n>, windows_, call.inputs[0],
                        call.output, pass.training ? kept_.data() : nullptr);
    });
  }

  void backward(const Pass& pass, const Backward& call) override {
    const InputGradient d_input = call.d_inputs[0];
    if (d_input.to == nullptr) return;
    with_packs(can_pack(windows_.channels, d_input.to, call.d_output), [&](auto n) {
      launch_in_samples(context_.stream, pass.size(), in_ / n, &give_back<n>, windows_, kept_.data(),
                        call.d_output, d_input.add, d_input.to);
    });
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false, .adds = true}; }
  [[nodiscard]] std::uint64_t bytes() const override { return kept_.size() * sizeof(PlaceInWindow); }
  [[nodiscard]] std::string implementation() const override { return "cuda"; }

 private:
  Windows windows_;
  std::uint64_t in_, out_;  // numbers of a sample
  DeviceArray<PlaceInWindow> kept_;
  const Context& context_;
};

}  // namespace

std::unique_ptr<Op> make(const MaxPool& op, const OpPlace& place, const Context& context) {
  if (op.size > largest_window) {
    throw Failure(ExitCode::configuration, "has windows of size " + std::to_string(op.size) + ": at most " +
                                               std::to_string(largest_window) +
                                               " are possible; pool twice instead");
  }
  return std::make_unique<MaxPoolOp>(op, place, context);
}

}  // namespace steelyard::nn::cuda
