// The release number, this machine's processor, and the cores that this process may use.
#pragma once

#include <string>
#include <string_view>

namespace steelyard {

const char* release();  // of Steelyard, such as "0.1.0"

// Instruction-set levels of our kernels. Kernels are compiled once per level and selected at start; all other
// code targets the baseline, so one binary runs on every machine.
// Levels: x86-64, x86-64-v3 (AVX2 and FMA), x86-64-v4 (AVX-512). Other processors have only the baseline.
enum class Level { baseline, v3, v4 };

// The highest level that this processor supports; STEELYARD_LEVEL=baseline|v3|v4 lowers it, for tests and
// comparisons.
Level cpu_level();
const char* name(Level level);

// Selects the entry for this level, such as a table of kernels (nn/cpu/kernels.h).
template <class Table>
const Table& at_level(Level level, const Table& baseline, const Table& v3, const Table& v4) {
  if (level == Level::baseline) return baseline;
  return level == Level::v3 ? v3 : v4;
}

// Whether the processor multiplies bfloat16 (AVX-512 BF16) and STEELYARD_LEVEL does not lower its level.
bool cpu_has_bf16();

std::string host_name();  // of this machine; empty if unknown

// Parses /proc/cpuinfo: "AMD EPYC 9655", or "2 x AMD EPYC 9655" for several packages; on ARM the name of the
// board, if the file contains it.
std::string processor_name(std::string_view cpuinfo);
std::string processor_name();

// Number of cores that the process may run on (its affinity, which taskset and container managers set), 1 to
// 1024: the size of a default CPU set. On larger machines all 1024 count.
unsigned allowed_cores();

}  // namespace steelyard
