#include "nn/cpu/direct.h"

#include "core/check.h"
#include "nn/cpu/kernel_calls.h"
#include "nn/op_table.h"

namespace steelyard::nn::direct {
namespace {

const ConvolutionTable& convolution_table(Level level) {
  return at_level(level, baseline::convolution, v3::convolution, v4::convolution);
}
const PoolTable& pool_table(Level level) { return at_level(level, baseline::pool, v3::pool, v4::pool); }
const TransposeTable& transpose_table(Level level) {
  return at_level(level, baseline::transpose, v3::transpose, v4::transpose);
}

void check_lanes(std::uint32_t lanes) {
  CHECK(lanes == 16 || lanes == 32, "direct kernels work on 16 or 32 lanes");
}

void check(const Convolution& c) {
  check_lanes(c.lanes);
  CHECK(c.in > 0 && c.out > 0 && c.height > 0 && c.width > 0, "an empty convolution");
  CHECK(c.kernel > 0 && c.padding < c.kernel, "the padding of a convolution is less than its kernel");
  CHECK(c.height + 2 * c.padding >= c.kernel && c.width + 2 * c.padding >= c.kernel,
        "the kernel of a convolution is larger than its padded picture");
}

void check(const Pool& p) {
  check_lanes(p.lanes);
  CHECK(p.size > 0 && p.size <= p.height && p.size <= p.width, "a pool's window is larger than the picture");
}

void check(std::uint32_t lanes, std::uint32_t count) {
  CHECK(lanes > 0 && lanes % 16 == 0, "lanes are a multiple of 16");
  CHECK(count <= lanes, "more samples than lanes");
}

}  // namespace

void forward(const Convolution& shape, const float* input, const float* weights, const float* bias, bool relu,
             float* output, Level level) {
  check(shape);
  convolution_table(level).forward(shape, input, weights, bias, relu, output);
}

void backward_weights(const Convolution& shape, const float* input, const float* d_output, bool add,
                      float* d_weights, float* d_bias, Level level) {
  check(shape);
  convolution_table(level).backward_weights(shape, input, d_output, add, d_weights, d_bias);
}

void backward_data(const Convolution& shape, const float* d_output, const float* weights, float* d_input,
                   Level level) {
  check(shape);
  convolution_table(level).backward_data(shape, d_output, weights, d_input);
}

void relu_backward(const float* output, float* gradient, std::size_t size, Level level) {
  CHECK(size % 16 == 0, "direct kernels work on 16 or 32 lanes");
  pool_table(level).relu_backward(output, gradient, size);
}

void max_pool_forward(const Pool& shape, const float* input, float* output, Level level) {
  check(shape);
  pool_table(level).max_forward(shape, input, output);
}

void max_pool_backward(const Pool& shape, const float* input, const float* d_output, bool relu,
                       float* d_input, Level level) {
  check(shape);
  pool_table(level).max_backward(shape, input, d_output, relu, d_input);
}

void average_pool_forward(const Pool& shape, const float* input, float* output, Level level) {
  check(shape);
  pool_table(level).average_forward(shape, input, output);
}

void average_pool_backward(const Pool& shape, const float* d_output, float* d_input, Level level) {
  check(shape);
  pool_table(level).average_backward(shape, d_output, d_input);
}

void to_lanes(Shape shape, std::uint32_t lanes, std::uint32_t count, const float* samples, float* picture,
              Level level) {
  check(lanes, count);
  transpose_table(level).to_lanes(shape.height * shape.width, shape.channels, lanes, count, samples, picture);
}

void from_lanes(Shape shape, std::uint32_t lanes, std::uint32_t count, const float* picture, float* samples,
                Level level) {
  check(lanes, count);
  transpose_table(level).from_lanes(shape.height * shape.width, shape.channels, lanes, count, picture,
                                    samples);
}

}  // namespace steelyard::nn::direct

namespace steelyard::nn::cpu {
namespace {

class TransposeOp final : public DirectOp {
 public:
  explicit TransposeOp(const OpPlace& place) : shape_(place.output), to_(place.order) {}

  void forward(const Pass& pass, const Forward& call) override {
    turn(pass, to_, call.inputs[0], call.output);
  }

  void backward(const Pass& pass, const Backward& call) override {
    if (call.d_inputs[0].to == nullptr) return;
    turn(pass, to_ == Order::lanes ? Order::samples : Order::lanes, call.d_output, call.d_inputs[0].to);
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false}; }

 private:
  void turn(const Pass& pass, Order to, const float* input, float* output) const {
    const auto transpose = to == Order::lanes ? direct::to_lanes : direct::from_lanes;
    transpose(shape_, pass.lanes(), pass.size(), input, output, cpu_level());
  }

  Shape shape_;
  Order to_;
};

}  // namespace

std::unique_ptr<Op> make_transpose(const OpPlace& place) { return std::make_unique<TransposeOp>(place); }

}  // namespace steelyard::nn::cpu
