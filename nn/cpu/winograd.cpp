// Convolutions by Winograd's method (winograd.h). A call works on blocks of tiles, and if one block holds all
// of them on strips of channels of the result, so that what it writes is still in the cache when it is read.
#include "nn/cpu/winograd.h"

#include <algorithm>
#include <type_traits>

#include "core/processor.h"
#include "nn/cpu/kernel_calls.h"
#include "nn/cpu/storage.h"
#include "nn/op_table.h"

namespace steelyard::nn::cpu {
namespace {

using winograd::Channels;
using winograd::Planes;
using winograd::Tiles;

constexpr std::size_t block = 128;  // tiles
constexpr std::size_t strip = 64;   // channels

// A cache line lies between planes, which would otherwise map to the same sets.
constexpr std::size_t apart(std::size_t rows, std::size_t columns) { return rows * columns + 16; }

Planes<const float> constant(const Planes<float>& it) { return {it.data, it.apart}; }

std::size_t tiles_along(std::size_t pixels) { return (pixels + winograd::tile - 1) / winograd::tile; }

// A direction of the op: pictures of `inputs` channels are windows, pictures of `outputs` channels are tiles.
struct Direction {
  Shape from, to;
  std::size_t padding;

  [[nodiscard]] Tiles tiles_of(const Shape& picture, std::size_t begin, std::size_t end) const {
    return {picture.height,        picture.width, picture.channels, tiles_along(to.height),
            tiles_along(to.width), begin,         end - begin};
  }
  [[nodiscard]] std::size_t tiles(std::size_t samples) const {
    return samples * tiles_along(to.height) * tiles_along(to.width);
  }
  // Channels at once: with several blocks all, so that no window is transformed twice.
  [[nodiscard]] std::size_t strip_for(std::size_t tiles) const {
    return tiles > block ? to.channels : std::min<std::size_t>(to.channels, strip);
  }
  // Floats of the three sets of planes.
  [[nodiscard]] std::uint64_t workspace(std::size_t samples) const {
    const std::size_t all = tiles(samples), rows = std::min(all, block), wide = strip_for(all);
    return winograd::planes * (apart(rows, from.channels) + apart(rows, wide) + apart(from.channels, wide));
  }
};

template <class T>
const winograd::PictureTable<T>& pictures_at(Level level) {
  if constexpr (std::is_same_v<T, float>) {
    return at_level(level, winograd::baseline::pictures, winograd::v3::pictures, winograd::v4::pictures);
  } else {
    return at_level(level, winograd::baseline::pictures_bf16, winograd::v3::pictures_bf16,
                    winograd::v4::pictures_bf16);
  }
}

// T: the type of stored activations. Planes are of floats.
template <class T>
class WinogradConv2d final : public Op {
 public:
  WinogradConv2d(const Conv2d& options, const OpPlace& place, Level level)
      : kernels_(at_level(level, winograd::baseline::table, winograd::v3::table, winograd::v4::table)),
        pictures_(pictures_at<T>(level)),
        level_(level),
        bias_(options.bias),
        along_{place.inputs[0], place.output, options.padding.rows},
        back_{place.output, place.inputs[0], winograd::kernel - 1 - options.padding.rows},
        workspace_(std::max(along_.workspace(place.micro_batch), back_.workspace(place.micro_batch))) {}

  void forward(const Pass& pass, const Forward& call) override {
    convolve(along_, pass.size(), stored<T>(call.inputs[0]), call.parameters[0],
             bias_ ? call.parameters[1] : nullptr, false, call.workspace, stored<T>(call.output));
  }

  void backward(const Pass& pass, const Backward& call) override {
    find_weights(pass.size(), call);
    if (bias_) find_biases(pass.size(), call);
    if (call.d_inputs[0].to == nullptr) return;
    convolve(back_, pass.size(), stored<T>(call.d_output), call.parameters[0], nullptr, true, call.workspace,
             stored<T>(call.d_inputs[0].to));
  }

  [[nodiscard]] Traits traits() const override { return {.workspace = workspace_}; }
  [[nodiscard]] std::string implementation() const override {
    return std::is_same_v<T, float> ? "winograd" : "winograd of bf16";
  }

 private:
  // Planes of windows, of tiles, and of kernels.
  struct Space {
    Planes<float> windows, tiles, kernels;
  };

  [[nodiscard]] static Space space(const Direction& along, std::size_t all, float* workspace) {
    const std::size_t rows = std::min(all, block), wide = along.strip_for(all);
    const std::size_t of_windows = apart(rows, along.from.channels), of_tiles = apart(rows, wide);
    float* const tiles = workspace + winograd::planes * of_windows;
    return {{workspace, of_windows},
            {tiles, of_tiles},
            {tiles + winograd::planes * of_tiles, apart(along.from.channels, wide)}};
  }

  // Calls begin(strip), step(strip, first tile, end) for each block, and end(strip), for each strip of
  // channels.
  template <class Begin, class Step, class End>
  static void visit(const Direction& along, std::size_t all, Begin begin, Step step, End end) {
    const std::size_t wide = along.strip_for(all), channels = along.to.channels;
    for (std::size_t first = 0; first < channels; first += wide) {
      const Channels some{first, std::min(first + wide, channels)};
      begin(some);
      for (std::size_t t = 0; t < all; t += block) step(some, t, std::min(t + block, all));
      end(some);
    }
  }

  // The windows of a block; those of the only block are the same for all strips.
  void find_windows(const Direction& along, std::size_t first, std::size_t end, Channels some,
                    const T* pictures, const Planes<float>& to) const {
    if (some.begin > 0) return;
    pictures_.windows(along.tiles_of(along.from, first, end), along.padding, pictures, to);
  }

  // Forward along a direction.
  void convolve(const Direction& along, std::size_t samples, const T* pictures, const float* weights,
                const float* bias, bool turned, float* workspace, T* results) {
    const std::size_t all = along.tiles(samples), inputs = along.from.channels;
    const Space room = space(along, all, workspace);
    const auto begin = [&](Channels some) {
      const winograd::Pairs pairs = turned ? winograd::Pairs{along.to.channels, some, {0, inputs}}
                                           : winograd::Pairs{inputs, {0, inputs}, some};
      kernels_.kernels(pairs, turned, weights, room.kernels);
    };
    const auto step = [&](Channels some, std::size_t first, std::size_t end) {
      const std::size_t count = end - first, wide = some.end - some.begin;
      find_windows(along, first, end, some, pictures, room.windows);
      kernels_.products({count, wide, inputs}, false, false, constant(room.windows), constant(room.kernels),
                        room.tiles);
      pictures_.tiles(along.tiles_of(along.to, first, end), some, constant(room.tiles), bias, results);
    };
    visit(along, all, begin, step, [](Channels) {});
  }

  void find_weights(std::size_t samples, const Backward& call) {
    const Direction& along = along_;
    const std::size_t all = along.tiles(samples), inputs = along.from.channels;
    const Space room = space(along, all, call.workspace);
    const auto step = [&](Channels some, std::size_t first, std::size_t end) {
      const std::size_t count = end - first, wide = some.end - some.begin;
      find_windows(along, first, end, some, stored<T>(call.inputs[0]), room.windows);
      pictures_.tile_gradients(along.tiles_of(along.to, first, end), some, stored<T>(call.d_output),
                               room.tiles);
      kernels_.products({inputs, wide, count}, true, first > 0, constant(room.windows), constant(room.tiles),
                        room.kernels);
    };
    const auto end = [&](Channels some) {
      kernels_.kernel_gradients({inputs, {0, inputs}, some}, constant(room.kernels), call.add,
                                call.d_parameters[0]);
    };
    visit(
        along, all, [](Channels) {}, step, end);
  }

  void find_biases(std::size_t samples, const Backward& call) const {
    const std::size_t channels = along_.to.channels, rows = samples * along_.to.height * along_.to.width;
    if constexpr (std::is_same_v<T, float>) {
      sum_rows({rows, channels, channels}, call.d_output, call.add, call.d_parameters[1], level_);
    } else {
      storage_kernels(level_).sum_rows(rows, channels, stored<T>(call.d_output), call.add,
                                       call.d_parameters[1]);
    }
  }

  const winograd::Table& kernels_;
  const winograd::PictureTable<T>& pictures_;
  const Level level_;
  const bool bias_;
  const Direction along_, back_;
  const std::uint64_t workspace_;
};

}  // namespace

std::unique_ptr<Op> make_winograd_conv2d(const Conv2d& op, const OpPlace& place, Level level) {
  return in_storage(place.storage, [&](auto number) -> std::unique_ptr<Op> {
    return std::make_unique<WinogradConv2d<decltype(number)>>(op, place, level);
  });
}

// Vectors are full of channels. Tiles that reach far beyond the picture cost more than is saved: more than
// 2/3 of the products of a direct sum, or, where those would be in bf16 at twice the speed, 2/5 (measured on
// a Zen 5: at 1/3 Winograd's method takes 0.7 to 0.95 of the time, at 4/9 1.14).
bool suits_winograd(const Conv2d& op, const OpPlace& place) {
  const Shape &in = place.inputs[0], &out = place.output;
  const auto fits = [](std::uint32_t channels) { return channels % 16 == 0; };
  const std::size_t tiles = tiles_along(out.height) * tiles_along(out.width);
  const bool halves = place.precision == Precision::bf16 && cpu_has_bf16();
  return op.kernel.rows == winograd::kernel && op.kernel.columns == winograd::kernel && op.stride == 1 &&
         op.groups == 1 && op.padding.rows == op.padding.columns && op.padding.rows < winograd::kernel &&
         fits(in.channels) && fits(out.channels) &&
         tiles * winograd::planes * (halves ? 5 : 3) <=
             pixels_of(out) * winograd::kernel * winograd::kernel * 2;
}

}  // namespace steelyard::nn::cpu
