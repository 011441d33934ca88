// steelyard_gpu_check SECTION [--small] [--from N] [--end N] [--list] [--plant FAULT:N]: checks and
// measures the CUDA backend on device 0, or on the host executor in builds without a device. Runs the cases
// N to N of the section (bench/gpu/cases.h), or lists them. Exit codes: 0; 1: a result is wrong; 2: invalid
// arguments; 3: the device is lost. script/gpu-check builds it, runs it, and makes the table.
#include <cstdio>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/gpu/gpu_sections.h"
#include "bench/gpu/lent_memory.h"
#include "nn/cuda/runtime.h"

namespace {

using namespace steelyard;

const std::map<std::string, std::vector<bench::Case> (*)()> sections{
    {"smoke", bench::smoke_cases},   {"limits", bench::limit_cases}, {"ops", bench::op_cases_on_device},
    {"times", bench::op_time_cases}, {"models", bench::model_cases}, {"steps", bench::step_cases},
    {"steady", bench::steady_cases}};

const std::map<std::string, bench::Planted> faults{{"wrong", bench::Planted::wrong},
                                                   {"hang", bench::Planted::hang},
                                                   {"crash", bench::Planted::crash},
                                                   {"lost", bench::Planted::lost}};

struct Arguments {
  std::string section;
  bench::CaseChoice choice;
};

// Throws std::exception of some kind for anything invalid.
Arguments read(const std::vector<std::string>& words) {
  Arguments read{words.at(0), {}};
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "--small") {
      bench::small_sizes() = true;
    } else if (words[i] == "--list") {
      read.choice.list = true;
    } else if (words[i] == "--from") {
      read.choice.from = std::stoul(words.at(++i));
    } else if (words[i] == "--end") {
      read.choice.end = std::stoul(words.at(++i));
    } else if (words[i] == "--plant") {
      const std::string& fault = words.at(++i);
      const std::size_t colon = fault.find(':');
      read.choice.planted = faults.at(fault.substr(0, colon));
      read.choice.planted_at = std::stoul(fault.substr(colon + 1));
    } else {
      throw std::invalid_argument(words[i]);
    }
  }
  (void)sections.at(read.section);
  return read;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  Arguments arguments;
  try {
    if (!words.empty() && words[0] == bench::reader_section)
      return bench::read_lent({words.begin() + 1, words.end()});
    arguments = read(words);
  } catch (const std::exception&) {
    std::fprintf(stderr,
                 "usage: steelyard_gpu_check SECTION [--small] [--from N] [--end N] [--list]"
                 " [--plant wrong|hang|crash|lost:N]\nsections:");
    for (const auto& [name, cases] : sections) std::fprintf(stderr, " %s", name.c_str());
    std::fprintf(stderr, "\n");
    return 2;
  }
  try {
    if (!arguments.choice.list) nn::cuda::use_device(0);
    return bench::run_cases(sections.at(arguments.section)(), arguments.choice);
  } catch (const std::exception& trouble) {
    std::fprintf(stderr, "steelyard_gpu_check: %s\n", trouble.what());
    return 1;
  }
}
