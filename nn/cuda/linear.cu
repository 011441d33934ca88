// Linear layers, each three matrix products, and the product by our own kernel (nn/cuda/products.h).
#include "nn/cuda/array_kernels.h"
#include "nn/cuda/context.h"
#include "nn/cuda/kernel.h"
#include "nn/cuda/products.h"

#include <type_traits>

namespace steelyard::nn::cuda {

namespace {

// Parameters in the type of a product: themselves, or a copy in Bf16, made in forward and used in backward,
// too.
template <class T>
class Parameters {
 public:
  explicit Parameters(std::uint64_t size) : copy_(in_place ? 0 : size) {}

  const T* made_of(Stream& stream, const float* parameters) {
    if constexpr (!in_place) cast(stream, copy_.size(), parameters, false, copy_.data());
    return of(parameters);
  }
  const T* of(const float* parameters) const {
    if constexpr (in_place) {
      return parameters;
    } else {
      return copy_.data();
    }
  }
  [[nodiscard]] std::uint64_t bytes() const { return copy_.size() * sizeof(T); }

 private:
  static constexpr bool in_place = std::is_same_v<T, float>;
  DeviceArray<T> copy_;
};

// Linear layers, of samples and of all their tokens. Pictures are stored pixel by pixel, but the weights
// expect channel by channel, so they are transposed.
//
// In bf16 the factors of all products are Bf16, also if activations are float32, as scores and their gradient
// are: those are cast into the workspace.
template <class T, class Factor>
class LinearOp final : public CudaOp {
 public:
  LinearOp(const Linear& op, const OpPlace& place, const Context& context)
      : CudaOp(context),
        in_(place.inputs[0]),
        inputs_(static_cast<std::uint32_t>(in_.size())),
        outputs_(op.outputs),
        bias_(op.bias),
        turned_(in_.channels > 1 && in_.height * in_.width > 1),
        weights_(std::uint64_t{inputs_} * outputs_),
        biases_(bias_ ? outputs_ : 0),
        workspace_(turned_ ? in_.size() * place.micro_batch : 0) {
    place_factors(place.micro_batch);
  }
  LinearOp(const TokenLinear& op, const OpPlace& place, const Context& context)
      : CudaOp(context),
        in_(place.inputs[0]),
        tokens_(in_.height * in_.width),
        inputs_(in_.channels),
        outputs_(op.outputs),
        bias_(op.bias),
        of_tokens_(true),
        weights_(std::uint64_t{inputs_} * outputs_),
        biases_(bias_ ? outputs_ : 0),
        workspace_(bias_ ? column_sums_workspace(std::uint64_t{tokens_} * place.micro_batch, outputs_) : 0) {
    place_factors(place.micro_batch);
  }

  void forward(const Pass& pass, const Forward& untyped) override {
    const ForwardOf<T> call(untyped);
    const T* const x = by_channel(pass, call.inputs[0], call.workspace);
    const std::uint32_t rows = pass.size() * tokens_;
    Stream& stream = context_.stream;
    context_.products.multiply(
        Product<Factor, T>{.rows = rows,
                           .columns = outputs_,
                           .inner = inputs_,
                           .a = factors(x, std::uint64_t{rows} * inputs_, call.workspace + x_at_),
                           .b = weights_.made_of(stream, call.parameters[0]),
                           .c = call.output,
                           .b_transposed = true,
                           .bias = bias_ ? biases_.made_of(stream, call.parameters[1]) : nullptr});
  }

  void backward(const Pass& pass, const Backward& untyped) override {
    const BackwardOf<T> call(untyped);
    const std::uint32_t rows = pass.size() * tokens_;
    const T* const x = by_channel(pass, call.inputs[0], call.workspace);
    const Factor* const d_output =
        factors(call.d_output, std::uint64_t{rows} * outputs_, call.workspace + d_output_at_);
    context_.products.multiply(
        Product<Factor, float>{.rows = outputs_,
                               .columns = inputs_,
                               .inner = rows,
                               .a = d_output,
                               .b = factors(x, std::uint64_t{rows} * inputs_, call.workspace + x_at_),
                               .c = call.d_parameters[0],
                               .a_transposed = true,
                               .add = call.add});
    if (bias_ && of_tokens_) {
      column_sums(context_.stream, call.d_output, rows, outputs_, call.add, call.d_parameters[1],
                  call.workspace);
    } else if (bias_) {
      column_sums(context_.stream, call.d_output, rows, outputs_, call.add, call.d_parameters[1]);
    }
    const auto [to, add] = call.d_inputs[0];
    if (to == nullptr) return;
    T* const d_x = turned_ ? reinterpret_cast<T*>(call.workspace) : to;
    context_.products.multiply(Product<Factor, T>{.rows = rows,
                                                  .columns = inputs_,
                                                  .inner = outputs_,
                                                  .a = d_output,
                                                  .b = weights_.of(call.parameters[0]),
                                                  .c = d_x,
                                                  .add = add});
    if (turned_) turn(context_.stream, pass.size(), in_.channels, in_.height * in_.width, d_x, to);
  }

  [[nodiscard]] Traits traits() const override {
    return {.adds = of_tokens_, .keeps_d_output = true, .workspace = workspace_};
  }
  [[nodiscard]] std::uint64_t bytes() const override { return weights_.bytes() + biases_.bytes(); }
  [[nodiscard]] std::string implementation() const override { return context_.products.implementation(); }

 private:
  static constexpr bool casts = !std::is_same_v<T, Factor>;

  // Appends the places of x and d_output as factors to the workspace.
  void place_factors(std::uint32_t samples) {
    if (!casts) return;
    const auto floats = [](std::uint64_t size) {  // whole packs
      return (size * sizeof(Factor) + pack_bytes - 1) / pack_bytes * (pack_bytes / sizeof(float));
    };
    const std::uint64_t rows = std::uint64_t{samples} * tokens_;
    x_at_ = (workspace_ + 3) / 4 * 4;
    d_output_at_ = x_at_ + floats(rows * inputs_);
    workspace_ = d_output_at_ + floats(rows * outputs_);
  }
  const Factor* factors(const T* values, std::uint64_t size, float* space) const {
    if constexpr (casts) {
      auto* const to = reinterpret_cast<Factor*>(space);
      cast(context_.stream, size, values, false, to);
      return to;
    } else {
      return values;
    }
  }
  const T* by_channel(const Pass& pass, const T* x, float* workspace) const {
    if (!turned_) return x;
    T* const turned = reinterpret_cast<T*>(workspace);
    turn(context_.stream, pass.size(), in_.height * in_.width, in_.channels, x, turned);
    return turned;
  }

  Shape in_;
  std::uint32_t tokens_ = 1, inputs_, outputs_;
  bool bias_, turned_ = false, of_tokens_ = false;
  Parameters<Factor> weights_;
  Parameters<T> biases_;
  std::uint64_t workspace_, x_at_ = 0, d_output_at_ = 0;
};

constexpr unsigned tile = 64, strip = 32, threads = 16;  // threads x threads per block
constexpr unsigned each = tile / threads;                // rows, and columns, per thread

// Loads a strip of a matrix into shared memory as [inner][outer]; 0 outside of the matrix. Neighbours in x
// read neighbours in memory for either layout: `inner_first` if the inner index counts rows.
template <class T>
__device__ void fetch(const T* from, bool inner_first, std::uint32_t row, unsigned outer_begin,
                      unsigned outers, unsigned inner_begin, unsigned inners, float (*to)[tile + 1]) {
  const unsigned thread = threadIdx.y * threads + threadIdx.x, fast = inner_first ? tile : strip;
  for (unsigned i = thread; i < tile * strip; i += threads * threads) {
    const unsigned outer = inner_first ? i % fast : i / fast, inner = inner_first ? i / fast : i % fast;
    const unsigned o = outer_begin + outer, k = inner_begin + inner;
    const std::uint64_t at = inner_first ? std::uint64_t{k} * row + o : std::uint64_t{o} * row + k;
    to[inner][outer] =
        o < outers && k < inners ? float{from[at]} : 0;  // one more column: avoids bank conflicts
  }
}

template <class Factor, class Result>
__global__ void multiply(Product<Factor, Result> p) {
  STEELYARD_SHARED(float, a, [strip][tile + 1]);
  STEELYARD_SHARED(float, b, [strip][tile + 1]);
  const unsigned x = threadIdx.x, y = threadIdx.y;
  const unsigned first_row = blockIdx.y * tile, first_column = blockIdx.x * tile;
  float sums[each][each] = {};
  for (unsigned first = 0; first < p.inner; first += strip) {
    fetch(p.a, p.a_transposed, p.a_row, first_row, p.rows, first, p.inner, a);
    fetch(p.b, !p.b_transposed, p.b_row, first_column, p.columns, first, p.inner, b);
    __syncthreads();
    const unsigned end = p.inner - first < strip ? p.inner - first : strip;
    for (unsigned k = 0; k < end; ++k) {
      for (unsigned i = 0; i < each && first_row + i * threads < p.rows; ++i) {
        for (unsigned j = 0; j < each; ++j) sums[i][j] += a[k][y + i * threads] * b[k][x + j * threads];
      }
    }
    __syncthreads();
  }
  for (unsigned i = 0; i < each; ++i) {
    for (unsigned j = 0; j < each; ++j) {
      const unsigned row = first_row + y + i * threads, column = first_column + x + j * threads;
      if (row >= p.rows || column >= p.columns) continue;
      Result& c = p.c[std::uint64_t{row} * p.c_row + column];
      c = p.factor * sums[i][j] + (p.bias != nullptr ? float{p.bias[column]} : 0) + (p.add ? float{c} : 0);
    }
  }
}

}  // namespace

template <class Factor, class Result>
void tiled_product(Stream& stream, const Product<Factor, Result>& product) {
  const Product<Factor, Result> p = product.with_rows();
  launch(stream, {groups_of(p.columns, tile), groups_of(p.rows, tile)}, {threads, threads},
         &multiply<Factor, Result>, p);
}
template void tiled_product(Stream&, const Product<float>&);
template void tiled_product(Stream&, const Product<Bf16>&);
template void tiled_product(Stream&, const Product<Bf16, float>&);

namespace {

template <class Kind>
std::unique_ptr<Op> make_linear(const Kind& op, const OpPlace& place, const Context& context) {
  if (place.storage == Storage::bf16) return std::make_unique<LinearOp<Bf16, Bf16>>(op, place, context);
  if (place.precision == Precision::bf16) return std::make_unique<LinearOp<float, Bf16>>(op, place, context);
  return std::make_unique<LinearOp<float, float>>(op, place, context);
}

}  // namespace

std::unique_ptr<Op> make(const Linear& op, const OpPlace& place, const Context& context) {
  return make_linear(op, place, context);
}
std::unique_ptr<Op> make(const TokenLinear& op, const OpPlace& place, const Context& context) {
  return make_linear(op, place, context);
}

}  // namespace steelyard::nn::cuda
