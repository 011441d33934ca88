#include "nn/cpu/dropout_mask.h"

#include "core/check.h"

namespace steelyard::nn {

void draw(const DropoutMask& mask, Level level) {
  CHECK(mask.lanes == 16 || mask.lanes == 32, "masks are drawn for 16 or 32 lanes");
  switch (level) {
    case Level::v4:
      return v4::draw(mask);
    case Level::v3:
      return v3::draw(mask);
    case Level::baseline:
      return baseline::draw(mask);
  }
}

}  // namespace steelyard::nn
