// Which of our kernels this processor can run. Kernels are compiled once per level and chosen at start;
// nothing else is built for more than the baseline, so one binary runs everywhere.
#pragma once

namespace steelyard {

enum class Level { baseline, v3, v4 };  // x86-64, x86-64-v3 (AVX2 and FMA), x86-64-v4 (AVX-512)

// The best level of this processor; STEELYARD_LEVEL=baseline|v3|v4 lowers it, for tests and comparisons.
Level cpu_level();
const char* name(Level level);

// Whether it multiplies bfloat16 (AVX-512 BF16) and nothing lowers its level.
bool cpu_has_bf16();

}  // namespace steelyard
