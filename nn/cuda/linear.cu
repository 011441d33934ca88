// A linear layer is three products. Pictures lie pixel by pixel, the weights take them channel by channel: they
// are turned on the way.
#include "nn/cuda/column_sums.h"
#include "nn/cuda/kernel.h"
#include "nn/cuda/ops.h"

namespace steelyard::nn::cuda {
namespace {

// From [sample][row][column] to [sample][column][row], a tile at a time.
__global__ void turn(const float* in, std::uint32_t rows, std::uint32_t columns, float* out) {
  STEELYARD_SHARED(float, tile, [32][33]);
  const std::uint64_t sample = std::uint64_t{blockIdx.z} * rows * columns;
  const unsigned x = threadIdx.x;
  for (unsigned y = threadIdx.y; y < 32; y += blockDim.y) {
    const unsigned row = blockIdx.y * 32 + y, column = blockIdx.x * 32 + x;
    if (row < rows && column < columns) tile[y][x] = in[sample + std::uint64_t{row} * columns + column];
  }
  __syncthreads();
  for (unsigned y = threadIdx.y; y < 32; y += blockDim.y) {
    const unsigned row = blockIdx.y * 32 + x, column = blockIdx.x * 32 + y;
    if (row < rows && column < columns) out[sample + std::uint64_t{column} * rows + row] = tile[x][y];
  }
}

class LinearOp final : public Op {
 public:
  LinearOp(const Linear& op, const OpPlace& place, const Context& context)
      : in_(place.inputs[0]),
        inputs_(static_cast<std::uint32_t>(in_.size())),
        outputs_(op.outputs),
        bias_(op.bias),
        turned_(in_.channels > 1 && in_.height * in_.width > 1),
        workspace_(turned_ ? in_.size() * place.micro_batch : 0),
        context_(context) {}

  void forward(const Pass& pass, const Forward& call) override {
    const float* const x = by_channel(pass, call.inputs[0], call.workspace);
    context_.products.multiply({.rows = pass.size(),
                                .columns = outputs_,
                                .inner = inputs_,
                                .a = x,
                                .b = call.parameters[0],
                                .c = call.output,
                                .b_transposed = true,
                                .bias = bias_ ? call.parameters[1] : nullptr});
  }

  void backward(const Pass& pass, const Backward& call) override {
    const float* const x = by_channel(pass, call.inputs[0], call.workspace);
    context_.products.multiply({.rows = outputs_,
                                .columns = inputs_,
                                .inner = pass.size(),
                                .a = call.d_output,
                                .b = x,
                                .c = call.d_parameters[0],
                                .a_transposed = true,
                                .add = call.add});
    if (bias_) {
      column_sums(context_.stream, call.d_output, pass.size(), outputs_, call.add, call.d_parameters[1]);
    }
    if (call.d_inputs[0].to == nullptr) return;
    float* const d_x = turned_ ? call.workspace : call.d_inputs[0].to;
    context_.products.multiply({.rows = pass.size(),
                                .columns = inputs_,
                                .inner = outputs_,
                                .a = call.d_output,
                                .b = call.parameters[0],
                                .c = d_x});
    if (turned_) turn_all(pass, d_x, in_.channels, in_.height * in_.width, call.d_inputs[0].to);
  }

  [[nodiscard]] Traits traits() const override { return {.workspace = workspace_}; }
  [[nodiscard]] std::string implementation() const override { return context_.products.implementation(); }

 private:
  const float* by_channel(const Pass& pass, const float* x, float* workspace) const {
    if (!turned_) return x;
    turn_all(pass, x, in_.height * in_.width, in_.channels, workspace);
    return workspace;
  }
  void turn_all(const Pass& pass, const float* in, std::uint32_t rows, std::uint32_t columns,
                float* out) const {
    launch(context_.stream, {groups_of(columns, 32), groups_of(rows, 32), pass.size()}, {32, 8}, &turn, in,
           rows, columns, out);
  }

  Shape in_;
  std::uint32_t inputs_, outputs_;
  bool bias_, turned_;
  std::uint64_t workspace_;
  const Context& context_;
};

}  // namespace

std::unique_ptr<Op> make(const Linear& op, const OpPlace& place, const Context& context) {
  return std::make_unique<LinearOp>(op, place, context);
}

}  // namespace steelyard::nn::cuda
