// The parts of the benchmark, in the order of the table.
#pragma once

#include <cstdint>

#include "bench/bench_table.h"
#include "core/time.h"

namespace steelyard::bench {

struct Effort {
  unsigned pairs = 7;
  Duration reading = milliseconds(100);  // one side of one pair takes about so long
  std::uint64_t seed = 1;
  bool full = false;  // of figures that are not timed: over more draws
};

void transport_section(const Effort& effort, Table& table);
void nn_section(const Effort& effort, Table& table);
void ops_section(const Effort& effort, Table& table);
void scheduler_section(const Effort& effort, Table& table);
void balancing_section(const Effort& effort, Table& table);
void predictor_section(const Effort& effort, Table& table);
void sim_section(const Effort& effort, Table& table);
void ablation_section(const Effort& effort, Table& table);  // only where it is asked for

}  // namespace steelyard::bench
