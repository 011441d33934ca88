#include "nn/cpu/dropout_sweep.h"

#include "core/check.h"
#include "nn/cpu/leveled.h"

namespace steelyard::nn {
namespace {

const DropoutTable& dropout_table(Level level) {
  return at_level(level, baseline::dropout, v3::dropout, v4::dropout);
}

}  // namespace

void drop_in_lanes(const DropoutSweep& sweep, const float* from, bool add, float* to, Level level) {
  CHECK(sweep.places == 16 || sweep.places == 32, "lanes are 16 or 32");
  dropout_table(level).lanes(sweep, from, add, to);
}

void drop_in_samples(const DropoutSweep& sweep, const float* from, bool add, float* to, Level level) {
  dropout_table(level).samples(sweep, from, add, to);
}

}  // namespace steelyard::nn
