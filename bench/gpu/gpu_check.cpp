// steelyard_gpu_check [ops] [steps] [steady]: checks and measures the CUDA column on device 0, or on the host
// executor in builds without a device. Without arguments, all sections. Prints rows (bench/gpu/rows.h); exits
// with 1 if a result is wrong. script/gpu-check builds it, runs it, and makes the table.
#include <cstdio>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include "bench/gpu/gpu_sections.h"
#include "nn/cuda/runtime.h"

int main(int argc, char** argv) try {
  using namespace steelyard;
  const std::map<std::string, void (*)()> sections{{"ops", bench::gpu_ops_section},
                                                   {"steps", bench::gpu_steps_section},
                                                   {"steady", bench::gpu_steady_section}};
  std::vector<std::string> wanted(argv + 1, argv + argc);
  if (wanted.empty()) wanted = {"ops", "steps", "steady"};
  for (const std::string& section : wanted) {
    if (sections.contains(section)) continue;
    std::fprintf(stderr, "steelyard_gpu_check: unknown section \"%s\"; valid: ops, steps, steady\n",
                 section.c_str());
    return 2;
  }
  nn::cuda::use_device(0);
  for (const std::string& section : wanted) sections.at(section)();
} catch (const std::exception& trouble) {
  std::fprintf(stderr, "steelyard_gpu_check: %s\n", trouble.what());
  return 1;
}
