// The parts of the benchmark, in the order of the table.
#pragma once

#include <cstdint>

#include "bench/bench_table.h"
#include "core/time.h"

namespace steelyard::bench {

struct Effort {
  unsigned pairs = 7;
  Duration reading = milliseconds(100);  // approximate duration of one side of one pair
  std::uint64_t seed = 1;
  bool full = false;  // more random draws for figures that are not timed
};

void transport_section(const Effort& effort, Table& table);
void nn_section(const Effort& effort, Table& table);
void ops_section(const Effort& effort, Table& table);
void feed_section(const Effort& effort, Table& table);
void scheduler_section(const Effort& effort, Table& table);
void balancing_section(const Effort& effort, Table& table);
void predictor_section(const Effort& effort, Table& table);
void sim_section(const Effort& effort, Table& table);
void ablation_section(const Effort& effort, Table& table);  // only if named by --only

}  // namespace steelyard::bench
