// steelyard_bench [quick|full] [--seed N] [--only SECTION] [--rows FILE]
//
// Sections: transport, nn, ops, feed, scheduler, balancing, predictors, sim, and ablation. ablation runs only
// if it is named, because it measures no speed and takes minutes. Prints the machine, then one table of
// figures, each with a limit measured within the same minutes; see script/bench. A missed target is a
// finding, not an error: the exit code is 1 only if a result was wrong. --rows also writes the rows for
// script/bench record.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "bench/hardware.h"
#include "bench/sections.h"

namespace {

using namespace steelyard;

constexpr std::pair<std::string_view, void (*)(const bench::Effort&, bench::Table&)> sections[] = {
    {"transport", bench::transport_section},
    {"nn", bench::nn_section},
    {"ops", bench::ops_section},
    {"feed", bench::feed_section},
    {"scheduler", bench::scheduler_section},
    {"balancing", bench::balancing_section},
    {"predictors", bench::predictor_section},
    {"sim", bench::sim_section},
    {"ablation", bench::ablation_section},
};

int usage() {
  std::fprintf(stderr,
               "usage: steelyard_bench [quick|full] [--seed N] [--only "
               "transport|nn|ops|feed|scheduler|balancing|predictors|sim|ablation] [--rows FILE]\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  bench::Effort effort;
  std::string_view mode = "quick", only;
  std::string rows;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "quick" || word == "full") {
      mode = word;
    } else if (word == "--seed" && i + 1 < argc) {
      effort.seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (word == "--only" && i + 1 < argc) {
      only = argv[++i];
    } else if (word == "--rows" && i + 1 < argc) {
      rows = argv[++i];
    } else {
      return usage();
    }
  }
  if (mode == "full") effort = {9, milliseconds(250), effort.seed, true};
  std::printf("%s; seed %llu; %s: medians of %u alternating readings of %.2f s\n", bench::hardware().c_str(),
              static_cast<unsigned long long>(effort.seed), mode.data(), effort.pairs,
              seconds(effort.reading));
  bench::Table table;
  bool known = false;
  try {
    for (const auto& [name, run] : sections) {
      if (only.empty() ? name == "ablation" : only != name) continue;
      known = true;
      run(effort, table);
    }
  } catch (const bench::WrongResult& wrong) {
    std::fprintf(stderr, "WRONG RESULT: %s\n", wrong.what());
    return 1;
  } catch (const std::exception& trouble) {
    std::fprintf(stderr, "steelyard_bench: %s\n", trouble.what());
    return 1;
  }
  if (!known) return usage();
  table.print(stdout);
  if (rows.empty()) return 0;
  std::FILE* file = std::fopen(rows.c_str(), "w");
  if (file == nullptr) {
    std::fprintf(stderr, "steelyard_bench: --rows %s cannot be written: give another place\n", rows.c_str());
    return 1;
  }
  table.print_rows(file);
  return std::fclose(file) == 0 ? 0 : 1;
}
