// Three sums without barriers, with tiles in registers so that each loaded number is used several times;
// channels are adjacent in a warp.
//
//  forward               a thread has 4 channels of 4 places of the output; it gathers from the input
//  gradient of the input the same kernel, which gathers from d_output through transposed weights
//  gradient of weights   a thread has 4 x 4 weights (inputs x outputs at one place of the kernel) over a
//                        chunk of the places of all samples; a second kernel adds the chunks
//
// Bound by loads from the first-level cache, two to five for 16 products. For the gather, weights are first
// put in the order of reading; if a window leaves the picture, the kernel reads a pixel of zeros behind them.
#include "nn/cuda/context.h"

#include <algorithm>

#include "nn/cuda/sweeps.h"

namespace steelyard::nn::cuda {
namespace {

constexpr unsigned threads = 128, places_each = 4;
constexpr std::uint32_t nowhere = 0x80000000;  // a row outside all pictures, whatever a kernel adds

struct Picture {
  std::uint32_t height, width, channels;
  std::uint32_t each;  // channels per group

  [[nodiscard]] __device__ std::uint64_t size() const { return std::uint64_t{height} * width * channels; }
};

// For one of the two directions: from input to output, or, `back`, from d_output to the input's gradient.
struct Geometry {
  Picture from, to;
  std::uint32_t rows, columns, stride, padding_rows, padding_columns, groups;
  std::uint32_t across;  // `to.each`, rounded up to whole packs
  bool back;

  [[nodiscard]] __host__ __device__ std::uint64_t kernel() const { return std::uint64_t{rows} * columns; }
  [[nodiscard]] __host__ __device__ std::uint64_t weights() const {
    return groups * kernel() * from.each * across;
  }
};

// Weights have two orders: own, the parameter's [out][in][row][column], and that of the kernels,
// [group][row][column][from][to]. For the conversion, blocks take a few channels of each kind, so that
// neither order has large strides, and a thread takes one pair of channels at several places of the kernel:
// `first` and every `step`-th after it. If there are few pairs, each place has its own thread.
struct PairOfChannels {
  bool exists, real;       // real: not between `to.each` and `across`
  std::uint64_t own, at;   // of the kernel's first place, in both orders
  std::uint64_t at_step;   // between places in the order of kernels; in the own order it is 1
  std::uint32_t from, to;  // channels of the group
  std::uint32_t first, step;
};
constexpr unsigned block_to = 8, block_from = 16;

__device__ PairOfChannels pair_of_thread(const Geometry& g, std::uint32_t step) {
  const std::uint32_t number = blockIdx.x / step, blocks = groups_of(g.across, blockDim.x);
  PairOfChannels pair{};
  pair.first = blockIdx.x % step;
  pair.step = step;
  pair.to = number % blocks * blockDim.x + threadIdx.x;
  pair.from = number / blocks * blockDim.y + threadIdx.y;
  pair.exists = pair.to < g.across && pair.from < g.from.each;
  pair.real = pair.to < g.to.each;
  const std::uint64_t group = blockIdx.y;
  const std::uint64_t out = g.back ? group * g.from.each + pair.from : group * g.to.each + pair.to;
  const std::uint64_t in = g.back ? pair.to : pair.from, ins = g.back ? g.to.each : g.from.each;
  pair.own = (out * ins + in) * g.kernel();
  pair.at = (group * g.kernel() * g.from.each + pair.from) * g.across + pair.to;
  pair.at_step = std::uint64_t{g.from.each} * g.across;
  return pair;
}

template <class... Parameters, class... Arguments>
void launch_by_pair(Stream& stream, const Geometry& g, void (*kernel)(Geometry, std::uint32_t, Parameters...),
                    Arguments... arguments) {
  constexpr std::uint64_t many = 16384;
  const Extent block{std::min(block_to, g.across), std::min(block_from, g.from.each)};
  const std::uint64_t blocks = std::uint64_t{groups_of(g.across, block.x)} * groups_of(g.from.each, block.y);
  const auto step = static_cast<std::uint32_t>(g.weights() / g.kernel() < many ? g.kernel() : 1);
  launch(stream, {static_cast<unsigned>(blocks * step), g.groups}, block, kernel, g, step, arguments...);
}

// Converts to the order of kernels, and appends a pixel of zeros.
__global__ void arrange(Geometry g, std::uint32_t step, const float* weights, float* arranged) {
  const PairOfChannels pair = pair_of_thread(g, step);
  if (!pair.exists) return;
  for (std::uint64_t rc = pair.first; rc < g.kernel(); rc += pair.step) {
    arranged[pair.at + rc * pair.at_step] = pair.real ? weights[pair.own + rc] : 0;
  }
  if (blockIdx.y == 0 && pair.first == 0 && pair.to == 0) arranged[g.weights() + pair.from] = 0;
}

// Where the window of a place meets the other picture, along one axis: at + k - padding ahead, and the
// inverse on the way back; `nowhere` if that is outside.
template <bool back>
__device__ std::uint32_t first_met(std::uint32_t at, std::uint32_t stride, std::uint32_t padding) {
  return back ? at + padding : at * stride - padding;  // before the picture it wraps to a large number
}
template <bool back>
__device__ std::uint32_t met(std::uint32_t first, std::uint32_t k, std::uint32_t stride,
                             std::uint32_t length) {
  std::uint32_t at = back ? first - k : first + k;
  if (back && stride > 1) at = at % stride == 0 ? at / stride : nowhere;
  return at < length ? at : nowhere;
}

// Stores `real` of n sums to the output.
template <unsigned n, class T>
__device__ void put(Pack<n> sums, unsigned real, const float* bias, bool add, bool packed, T* to) {
  for (unsigned k = 0; k < real; ++k) {
    if (bias != nullptr) sums.x[k] += bias[k];
    if (add) sums.x[k] += to[k];
  }
  if (packed) {
    store<n>(to, sums);
  } else {
    for (unsigned k = 0; k < real; ++k) to[k] = sums.x[k];
  }
}

template <unsigned n, bool back, class T>
__global__ void gather(Geometry g, std::uint64_t places, const T* from, const float* arranged,
                       const float* bias, bool add, bool packed, T* to) {
  const std::uint64_t t = thread_number();
  const unsigned parts_of_group = g.across / n, parts = g.groups * parts_of_group;
  const std::uint64_t place = t / parts * places_each;
  if (place >= places) return;
  const auto part = static_cast<std::uint32_t>(t % parts);
  const unsigned group = part / parts_of_group, channel = part % parts_of_group * n;
  const T* const zeros = reinterpret_cast<const T*>(arranged + g.weights());
  const float* const weights = arranged + group * g.kernel() * g.from.each * g.across + channel;
  const T* pictures[places_each];
  std::uint32_t first_row[places_each], first_column[places_each];
  for (unsigned p = 0; p < places_each; ++p) {
    const bool exists = place + p < places;
    const std::uint64_t row = (place + p) / g.to.width, sample = row / g.to.height;
    const auto y = static_cast<std::uint32_t>(row - sample * g.to.height);
    const auto x = static_cast<std::uint32_t>(place + p - row * g.to.width);
    pictures[p] = from + (exists ? sample * g.from.size() : 0) + group * g.from.each;
    first_row[p] = exists ? first_met<back>(y, g.stride, g.padding_rows) : nowhere;
    first_column[p] = first_met<back>(x, g.stride, g.padding_columns);
  }
  Pack<n> sums[places_each] = {};
  for (unsigned r = 0; r < g.rows; ++r) {
    std::uint32_t rows[places_each];
    for (unsigned p = 0; p < places_each; ++p) rows[p] = met<back>(first_row[p], r, g.stride, g.from.height);
    for (unsigned q = 0; q < g.columns; ++q) {
      const T* at[places_each];
      bool any = false;
      for (unsigned p = 0; p < places_each; ++p) {
        const std::uint32_t column = met<back>(first_column[p], q, g.stride, g.from.width);
        const bool inside = rows[p] != nowhere && column != nowhere;
        const std::uint64_t pixel = std::uint64_t{rows[p]} * g.from.width + column;
        at[p] = inside ? pictures[p] + pixel * g.from.channels : zeros;
        any = any || inside;
      }
      if (!any) continue;
      const float* w_at = weights + (std::uint64_t{r} * g.columns + q) * g.from.each * g.across;
      for (unsigned i = 0; i < g.from.each; ++i, w_at += g.across) {
        const Pack<n> w = load<n>(w_at);
        for (unsigned p = 0; p < places_each; ++p) {
          const float x = at[p][i];
          for (unsigned k = 0; k < n; ++k) sums[p].x[k] += x * w.x[k];
        }
      }
    }
  }
  const unsigned c = group * g.to.each + channel, real = g.to.each - channel < n ? g.to.each - channel : n;
  for (unsigned p = 0; p < places_each && place + p < places; ++p) {
    put<n>(sums[p], real, bias == nullptr ? nullptr : bias + c, add, packed,
           to + (place + p) * g.to.channels + c);
  }
}

// The first `real` of n numbers, then zeros.
template <unsigned n, class T>
__device__ Pack<n> load_some(const T* at, unsigned real, bool packed) {
  if (packed) return load<n>(at);
  Pack<n> pack;
  for (unsigned k = 0; k < n; ++k) pack.x[k] = k < real ? float{at[k]} : 0;
  return pack;
}

struct Places {
  std::uint64_t all;    // of all samples
  std::uint64_t chunk;  // per block row
};

// Floats of one chunk in the workspace.
__host__ __device__ inline std::uint64_t row_of_partial(const Geometry& g) {
  return g.weights() + std::uint64_t{g.groups} * g.across;
}

// The weights of a thread (these channels of a group, at one place of the kernel), or its biases.
struct Tile {
  bool of_bias;
  std::uint32_t in, out, row, column, group;
};
template <unsigned ins, unsigned outs>
__device__ Tile tile_of(const Geometry& g, std::uint64_t tiles_of_weights, std::uint64_t number) {
  const bool of_bias = number >= tiles_of_weights;
  if (of_bias) number -= tiles_of_weights;
  const auto next = [&](std::uint32_t count) {
    const auto digit = static_cast<std::uint32_t>(number % count);
    number /= count;
    return digit;
  };
  Tile tile{of_bias, 0, next(g.across / outs) * outs, 0, 0, 0};
  if (!of_bias) {
    tile.in = next(groups_of(g.from.each, ins)) * ins;
    tile.column = next(g.columns);
    tile.row = next(g.rows);
  }
  tile.group = static_cast<std::uint32_t>(number);
  return tile;
}

// blockIdx.y is the chunk. A row of `partial` has all weights in the order of kernels, and then all biases,
// `across` per group.
template <unsigned ins, unsigned outs, class T>
__global__ void weigh(Geometry g, Places places, const T* input, const T* d_output, bool in_packed,
                      bool out_packed, float* partial) {
  const std::uint64_t parts = std::uint64_t{g.groups} * (g.across / outs);
  const std::uint64_t tiles = g.kernel() * groups_of(g.from.each, ins) * parts;
  if (thread_number() >= tiles + parts) return;
  const Tile tile = tile_of<ins, outs>(g, tiles, thread_number());
  const unsigned out_real = g.to.each - tile.out < outs ? g.to.each - tile.out : outs;
  const unsigned in_real = g.from.each - tile.in < ins ? g.from.each - tile.in : ins;
  const std::uint64_t first = tile.group * g.to.each + tile.out;
  const T* const x_channel = input + tile.group * g.from.each + tile.in;

  const std::uint64_t begin = blockIdx.y * places.chunk;
  const std::uint64_t end = begin + places.chunk < places.all ? begin + places.chunk : places.all;
  std::uint64_t sample = begin / g.to.width / g.to.height;
  auto y = static_cast<std::uint32_t>(begin / g.to.width % g.to.height);
  auto x = static_cast<std::uint32_t>(begin % g.to.width);
  Pack<outs> sums[ins] = {};
  for (std::uint64_t place = begin; place < end; ++place) {
    const std::uint32_t row = first_met<false>(y, g.stride, g.padding_rows) + tile.row;
    const std::uint32_t column = first_met<false>(x, g.stride, g.padding_columns) + tile.column;
    const T* const d_at = d_output + place * g.to.channels + first;
    if (tile.of_bias) {
      const Pack<outs> d = load_some<outs>(d_at, out_real, out_packed);
      for (unsigned k = 0; k < outs; ++k) sums[0].x[k] += d.x[k];
    } else if (row < g.from.height && column < g.from.width) {
      const Pack<outs> d = load_some<outs>(d_at, out_real, out_packed);
      const std::uint64_t pixel = (sample * g.from.height + row) * g.from.width + column;
      const Pack<ins> v = load_some<ins>(x_channel + pixel * g.from.channels, in_real, in_packed);
      for (unsigned i = 0; i < ins; ++i) {
        for (unsigned k = 0; k < outs; ++k) sums[i].x[k] += v.x[i] * d.x[k];
      }
    }
    if (++x == g.to.width) {
      x = 0;
      if (++y == g.to.height) y = 0, ++sample;
    }
  }
  float* const own = partial + blockIdx.y * row_of_partial(g);
  float* at = own + g.weights() + std::uint64_t{tile.group} * g.across + tile.out;
  if (!tile.of_bias) {
    const std::uint64_t place_of_kernel = tile.group * g.kernel() + tile.row * g.columns + tile.column;
    at = own + (place_of_kernel * g.from.each + tile.in) * g.across + tile.out;
  }
  for (unsigned i = 0; i < (tile.of_bias ? 1 : in_real); ++i)
    store<outs>(at + std::uint64_t{i} * g.across, sums[i]);
}

__global__ void add_chunks(Geometry g, std::uint32_t step, std::uint32_t chunks, const float* partial,
                           bool add, float* d_weights, float* d_bias) {
  const PairOfChannels pair = pair_of_thread(g, step);
  if (!pair.exists || !pair.real) return;
  const auto put_sum = [&](std::uint64_t at, float& to) {
    float sum = add ? to : 0;
    for (std::uint32_t c = 0; c < chunks; ++c) sum += partial[c * row_of_partial(g) + at];
    to = sum;
  };
  for (std::uint64_t rc = pair.first; rc < g.kernel(); rc += pair.step) {
    put_sum(pair.at + rc * pair.at_step, d_weights[pair.own + rc]);
  }
  if (d_bias == nullptr || pair.first != 0 || pair.from != 0) return;
  put_sum(g.weights() + std::uint64_t{blockIdx.y} * g.across + pair.to,
          d_bias[std::uint64_t{blockIdx.y} * g.to.each + pair.to]);
}

Picture picture(Shape shape, std::uint32_t groups) {
  return {shape.height, shape.width, shape.channels, shape.channels / groups};
}

template <class T>
class DirectConv2d final : public CudaOp {
 public:
  DirectConv2d(const Conv2d& op, const OpPlace& place, const Context& context)
      : CudaOp(context),
        ahead_(geometry(op, place.inputs[0], place.output, false)),
        back_(geometry(op, place.output, place.inputs[0], true)),
        bias_(op.bias) {
    const std::uint64_t partial = chunks(places(place.micro_batch)) * row_of_partial(ahead_);
    workspace_ = std::max({arranged(ahead_), arranged(back_), partial});
  }

  void forward(const Pass& pass, const Forward& untyped) override {
    const ForwardOf<T> call(untyped);
    gather_all(ahead_, pass, call.inputs[0], call.parameters[0], bias_ ? call.parameters[1] : nullptr, false,
               call.workspace, call.output);
  }

  void backward(const Pass& pass, const Backward& untyped) override {
    const BackwardOf<T> call(untyped);
    const auto weigh_by = [&](auto ins, auto outs) { weigh_all<ins, outs>(pass, call); };
    constexpr std::integral_constant<unsigned, 1> one;
    constexpr std::integral_constant<unsigned, 4> four;
    const bool many_in = ahead_.from.each >= 4, many_out = ahead_.across > 1;
    if (many_in && many_out) weigh_by(four, four);
    if (many_in && !many_out) weigh_by(four, one);
    if (!many_in && many_out) weigh_by(one, four);
    if (!many_in && !many_out) weigh_by(one, one);
    const auto [to, add] = call.d_inputs[0];
    if (to != nullptr)
      gather_all(back_, pass, call.d_output, call.parameters[0], nullptr, add, call.workspace, to);
  }

  [[nodiscard]] Traits traits() const override { return {.adds = true, .workspace = workspace_}; }
  [[nodiscard]] std::string implementation() const override { return "direct"; }

 private:
  static Geometry geometry(const Conv2d& op, Shape from, Shape to, bool back) {
    const std::uint32_t each = to.channels / op.groups;
    return {picture(from, op.groups),
            picture(to, op.groups),
            op.kernel.rows,
            op.kernel.columns,
            op.stride,
            op.padding.rows,
            op.padding.columns,
            op.groups,
            each == 1 ? 1 : 4 * groups_of(each, 4),
            back};
  }
  static std::uint64_t arranged(const Geometry& g) { return g.weights() + g.from.each; }

  void gather_all(const Geometry& g, const Pass& pass, const T* from, const float* weights, const float* bias,
                  bool add, float* workspace, T* to) const {
    launch_by_pair(context_.stream, g, &arrange, weights, workspace);
    const std::uint64_t places = std::uint64_t{pass.size()} * g.to.height * g.to.width;
    const bool packed = g.across == 1 || are_packs_of<4>(g.to.each, to);
    with_packs(Packing<4>{g.across > 1}, [&](auto n) {
      const std::uint64_t parts = std::uint64_t{g.groups} * (g.across / n);
      const unsigned blocks = groups_of(groups_of(places, places_each) * parts, threads);
      const auto kernel = g.back ? &gather<n, true, T> : &gather<n, false, T>;
      launch(context_.stream, blocks, threads, kernel, g, places, from, workspace, bias, add, packed, to);
    });
  }

  // ---- the gradient of the weights

  [[nodiscard]] std::uint64_t places(std::uint32_t samples) const {
    return std::uint64_t{samples} * ahead_.to.height * ahead_.to.width;
  }
  // Enough chunks to fill a GPU with threads of 16 weights, if each has enough to do.
  [[nodiscard]] std::uint32_t chunks(std::uint64_t places) const {
    constexpr std::uint32_t enough = 65536, max_chunks = 256, min_places = 128;
    const std::uint32_t wanted = std::min(max_chunks, groups_of(16 * enough, ahead_.weights()));
    return std::min(wanted, groups_of(places, min_places));
  }

  template <unsigned ins, unsigned outs>
  void weigh_all(const Pass& pass, const BackwardOf<T>& call) const {
    const Geometry& g = ahead_;
    const std::uint64_t all = places(pass.size()), wanted = chunks(all), chunk = groups_of(all, wanted);
    const std::uint32_t count = groups_of(all, chunk);
    const std::uint64_t out_parts = std::uint64_t{g.groups} * (g.across / outs);
    const std::uint64_t tiles = out_parts * (g.kernel() * groups_of(g.from.each, ins) + 1);
    const bool in_packed = ins == 1 || are_packs_of<ins>(g.from.each, call.inputs[0]);
    const bool out_packed = outs == 1 || are_packs_of<outs>(g.to.each, call.d_output);
    launch(context_.stream, {groups_of(tiles, threads), count}, threads, &weigh<ins, outs, T>, g,
           Places{all, chunk}, call.inputs[0], call.d_output, in_packed, out_packed, call.workspace);
    launch_by_pair(context_.stream, g, &add_chunks, count, call.workspace, call.add, call.d_parameters[0],
                   bias_ ? call.d_parameters[1] : nullptr);
  }

  Geometry ahead_, back_;
  bool bias_;
  std::uint64_t workspace_ = 0;
};

}  // namespace

std::unique_ptr<Op> make_direct_conv2d(const Conv2d& op, const OpPlace& place, const Context& context) {
  return in_storage(place.storage, [&](auto number) -> std::unique_ptr<Op> {
    return std::make_unique<DirectConv2d<decltype(number)>>(op, place, context);
  });
}

}  // namespace steelyard::nn::cuda
