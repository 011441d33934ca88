// Szegedy et al., "Rethinking the Inception architecture for computer vision" (2015): v3, without the
// auxiliary classifier, which only shapes training. The letters of the blocks are torchvision's.
#include "nn/models.h"

namespace steelyard::nn {
namespace {

// The ops of one block; every convolution has a batch norm and a ReLU.
struct Block {
  std::string name;

  Value conv(Value x, const std::string& part, std::uint32_t channels, Pair kernel, std::uint32_t stride = 1,
             Pair padding = 0) const {
    const std::string layer = name + part;
    return x
        .conv2d(layer + ".conv", {.channels = channels,
                                  .kernel = kernel,
                                  .stride = stride,
                                  .padding = padding,
                                  .bias = false,
                                  .init = Init::he_fan_in})
        .batch_norm(layer + ".bn", BatchNorm(1e-3))
        .relu();
  }
  Value row(Value x, const std::string& part, std::uint32_t channels, std::uint32_t size) const {
    return conv(x, part, channels, {1, size}, 1, {0, size / 2});
  }
  Value column(Value x, const std::string& part, std::uint32_t channels, std::uint32_t size) const {
    return conv(x, part, channels, {size, 1}, 1, {size / 2, 0});
  }
  Value pooled(Value x, std::uint32_t channels) const {
    return conv(x.average_pool(3, 1, 1), "branch_pool", channels, 1);
  }
};

Value mixed_a(Value x, const Block& b, std::uint32_t pool) {
  const Value one = b.conv(x, "branch1x1", 64, 1);
  const Value five = b.conv(b.conv(x, "branch5x5_1", 48, 1), "branch5x5_2", 64, 5, 1, 2);
  Value three = b.conv(b.conv(x, "branch3x3dbl_1", 64, 1), "branch3x3dbl_2", 96, 3, 1, 1);
  three = b.conv(three, "branch3x3dbl_3", 96, 3, 1, 1);
  return concat({one, five, three, b.pooled(x, pool)});
}

Value mixed_b(Value x, const Block& b) {
  const Value three = b.conv(x, "branch3x3", 384, 3, 2);
  Value twice = b.conv(b.conv(x, "branch3x3dbl_1", 64, 1), "branch3x3dbl_2", 96, 3, 1, 1);
  twice = b.conv(twice, "branch3x3dbl_3", 96, 3, 2);
  return concat({three, twice, x.max_pool(3, 2)});
}

Value mixed_c(Value x, const Block& b, std::uint32_t width) {
  const Value one = b.conv(x, "branch1x1", 192, 1);
  Value seven = b.row(b.conv(x, "branch7x7_1", width, 1), "branch7x7_2", width, 7);
  seven = b.column(seven, "branch7x7_3", 192, 7);
  Value twice = b.column(b.conv(x, "branch7x7dbl_1", width, 1), "branch7x7dbl_2", width, 7);
  twice = b.column(b.row(twice, "branch7x7dbl_3", width, 7), "branch7x7dbl_4", width, 7);
  twice = b.row(twice, "branch7x7dbl_5", 192, 7);
  return concat({one, seven, twice, b.pooled(x, 192)});
}

Value mixed_d(Value x, const Block& b) {
  const Value three = b.conv(b.conv(x, "branch3x3_1", 192, 1), "branch3x3_2", 320, 3, 2);
  Value seven = b.row(b.conv(x, "branch7x7x3_1", 192, 1), "branch7x7x3_2", 192, 7);
  seven = b.conv(b.column(seven, "branch7x7x3_3", 192, 7), "branch7x7x3_4", 192, 3, 2);
  return concat({three, seven, x.max_pool(3, 2)});
}

Value mixed_e(Value x, const Block& b) {
  const Value one = b.conv(x, "branch1x1", 320, 1);
  const Value three = b.conv(x, "branch3x3_1", 384, 1);
  const Value across = b.row(three, "branch3x3_2a", 384, 3), down = b.column(three, "branch3x3_2b", 384, 3);
  const Value twice = b.conv(b.conv(x, "branch3x3dbl_1", 448, 1), "branch3x3dbl_2", 384, 3, 1, 1);
  const Value twice_across = b.row(twice, "branch3x3dbl_3a", 384, 3);
  const Value twice_down = b.column(twice, "branch3x3dbl_3b", 384, 3);
  return concat({one, across, down, twice_across, twice_down, b.pooled(x, 192)});
}

Model inception_v3(Shape input, std::uint32_t classes, const Options& options) {
  Model model(input, classes);
  const Block stem{""};
  Value x = stem.conv(model.input_value(), "Conv2d_1a_3x3", 32, 3, 2);
  x = stem.conv(stem.conv(x, "Conv2d_2a_3x3", 32, 3), "Conv2d_2b_3x3", 64, 3, 1, 1).max_pool(3, 2);
  x = stem.conv(stem.conv(x, "Conv2d_3b_1x1", 80, 1), "Conv2d_4a_3x3", 192, 3).max_pool(3, 2);
  x = mixed_a(x, {"Mixed_5b."}, 32);
  x = mixed_a(mixed_a(x, {"Mixed_5c."}, 64), {"Mixed_5d."}, 64);
  x = mixed_c(mixed_b(x, {"Mixed_6a."}), {"Mixed_6b."}, 128);
  x = mixed_c(mixed_c(x, {"Mixed_6c."}, 160), {"Mixed_6d."}, 160);
  x = mixed_d(mixed_c(x, {"Mixed_6e."}, 192), {"Mixed_7a."});
  x = mixed_e(mixed_e(x, {"Mixed_7b."}), {"Mixed_7c."}).global_average_pool();
  if (options.number("dropout") > 0) x = x.dropout(options.number("dropout"));
  x.linear("fc", classes);
  return model;
}

}  // namespace

ModelTable inception_rows() {
  return {
      {"inception_v3",
       inception_v3,
       "blocks of parallel convolutions; for 299 x 299 pixels (Szegedy 2015)",
       {number_option("dropout", 0.5, 0, below(1), "share of the features dropped before the last layer")}}};
}

}  // namespace steelyard::nn
