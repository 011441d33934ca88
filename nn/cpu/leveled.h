// Picks the table of kernels of a processor level; the pattern is told in nn/cpu/direct_kernels.h.
#pragma once

#include "core/level.h"

namespace steelyard::nn {

template <class Table>
const Table& at_level(Level level, const Table& baseline, const Table& v3, const Table& v4) {
  switch (level) {
    case Level::v4:
      return v4;
    case Level::v3:
      return v3;
    case Level::baseline:
      break;
  }
  return baseline;
}

}  // namespace steelyard::nn
