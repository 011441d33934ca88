#include "core/check.h"
#include "nn/cpu/direct.h"

namespace steelyard::nn::direct {
namespace {

const TransposeTable& transpose_table(Level level) {
  switch (level) {
    case Level::v4:
      return v4::transpose;
    case Level::v3:
      return v3::transpose;
    case Level::baseline:
      break;
  }
  return baseline::transpose;
}

void check(std::uint32_t lanes, std::uint32_t count) {
  CHECK(lanes == 16 || lanes == 32, "direct kernels work on 16 or 32 lanes");
  CHECK(count <= lanes, "more samples than lanes");
}

}  // namespace

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
