#include "bench/gpu/cases.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>

#include "bench/gpu/rows.h"
#include "nn/cuda/runtime.h"
#include "nn/cuda_devices.h"

namespace steelyard::bench {
namespace {

bool spoil = false;

bool device_works() {
  try {
    nn::cuda::Stream stream;
    const nn::cuda::DeviceArray<float> there(1);
    const nn::cuda::PinnedArray<float> here(1);
    *here.data() = 1;
    stream.copy_array(there.data(), here.data(), 1);
    stream.synchronize();
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void plant(Planted fault) {
  spoil = fault == Planted::wrong;
  if (fault == Planted::crash) std::abort();
  if (fault == Planted::lost) std::_Exit(lost);
  while (fault == Planted::hang) std::this_thread::sleep_for(std::chrono::seconds(1));
}

}  // namespace

bool must_spoil() { return spoil; }

bool& small_sizes() {
  static bool small = !nn::built_with_cuda();
  return small;
}

int run_cases(const std::vector<Case>& cases, const CaseChoice& choice) {
  int code = 0;
  for (std::size_t i = choice.from; i < std::min(cases.size(), choice.end); ++i) {
    std::printf("@case\t%zu\t%s\n", i, cases[i].title.c_str());
    std::fflush(stdout);
    if (choice.list) continue;
    plant(i == choice.planted_at ? choice.planted : Planted::none);
    try {
      cases[i].run();
    } catch (const std::exception& trouble) {
      code = wrong;
      print({cases[i].title, "WRONG", "", trouble.what()});
      if (!device_works()) std::_Exit(lost);  // destructors would use the device
    }
  }
  return code;
}

}  // namespace steelyard::bench
