// Bound by memory: a thread has some neighbouring channels of one place of what it writes, and gathers from
// the windows there, in both directions.
#include "nn/cuda/in_samples.h"
#include "nn/cuda/ops.h"
#include "nn/cuda/windows.h"

namespace steelyard::nn::cuda {
namespace {

// Sums over a window, or, `back`, over the windows that cover a place.
template <unsigned n, bool back>
__global__ void average(Windows all, float share, const float* from, bool add, float* to) {
  const std::uint32_t height = back ? all.height : all.out_height, width = back ? all.width : all.out_width;
  const std::uint32_t from_height = back ? all.out_height : all.height;
  const std::uint32_t from_width = back ? all.out_width : all.width;
  const unsigned i = n * thread_in_sample();
  if (i >= height * width * all.channels) return;
  const Spot spot = spot_of(i, width, all.channels);
  const auto meets = back ? &windows_over : &places_in;
  const Range rows = meets(all, spot.row, from_height), columns = meets(all, spot.column, from_width);
  const std::uint64_t sample = blockIdx.y;
  const float* const picture = from + sample * from_height * from_width * all.channels + spot.channel;
  float* const at = to + sample * height * width * all.channels + i;
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

class AveragePoolOp final : public Op {
 public:
  AveragePoolOp(const AveragePool& op, const OpPlace& place, const Context& context)
      : windows_(windows_of(op, place)),
        share_(static_cast<float>(1 / (1.0 * op.size * op.size))),
        in_(place.inputs[0].size()),
        out_(place.output.size()),
        context_(context) {}

  void forward(const Pass& pass, const Forward& call) override {
    with_packs(can_pack(windows_.channels, call.inputs[0], call.output), [&](auto n) {
      launch_in_samples(context_.stream, pass.size(), out_ / n, &average<n, false>, windows_, share_,
                        call.inputs[0], false, call.output);
    });
  }

  void backward(const Pass& pass, const Backward& call) override {
    const InputGradient d_input = call.d_inputs[0];
    if (d_input.to == nullptr) return;
    with_packs(can_pack(windows_.channels, d_input.to, call.d_output), [&](auto n) {
      launch_in_samples(context_.stream, pass.size(), in_ / n, &average<n, true>, windows_, share_,
                        call.d_output, d_input.add, d_input.to);
    });
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false, .adds = true}; }
  [[nodiscard]] std::string implementation() const override { return "cuda"; }

 private:
  Windows windows_;
  float share_;
  std::uint64_t in_, out_;  // numbers of a sample
  const Context& context_;
};

}  // namespace

std::unique_ptr<Op> make(const AveragePool& op, const OpPlace& place, const Context& context) {
  return std::make_unique<AveragePoolOp>(op, place, context);
}

}  // namespace steelyard::nn::cuda
