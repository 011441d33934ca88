// This release, the processor of this machine, and how much of it this process may use.
#pragma once

#include <string>
#include <string_view>

namespace steelyard {

const char* release();  // of Steelyard: "0.1.0"

// Which of our kernels this processor can run. Kernels are compiled once per level and chosen at start;
// nothing else is built for more than the baseline, so one binary runs everywhere.
enum class Level { baseline, v3, v4 };  // x86-64, x86-64-v3 (AVX2 and FMA), x86-64-v4 (AVX-512)

// The best level of this processor; STEELYARD_LEVEL=baseline|v3|v4 lowers it, for tests and comparisons.
Level cpu_level();
const char* name(Level level);

// Of one thing for each level, such as a table of kernels (nn/cpu/kernels.h), that of this level.
template <class Table>
const Table& at_level(Level level, const Table& baseline, const Table& v3, const Table& v4) {
  if (level == Level::baseline) return baseline;
  return level == Level::v3 ? v3 : v4;
}

// Whether it multiplies bfloat16 (AVX-512 BF16) and nothing lowers its level.
bool cpu_has_bf16();

std::string host_name();  // of this machine; empty if it has none

// "AMD EPYC 9655", or "2 x AMD EPYC 9655" where there are several; of the text of /proc/cpuinfo.
std::string processor_name(std::string_view cpuinfo);
std::string processor_name();

// The cores that the process may run on (its affinity, which taskset and container managers set): from 1 to
// 1024, which is what a set of the usual size holds; on a larger machine all count.
unsigned allowed_cores();

}  // namespace steelyard
