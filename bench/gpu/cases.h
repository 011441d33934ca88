// Sections of steelyard_gpu_check as lists of cases. One case that breaks the device must not hide the
// cases behind it: after an illegal address all later CUDA calls of a process fail. The program then exits
// with `lost`, and its caller (bench/gpu/cases.py) continues at the next case in a new process.
//
// Each case is announced by a line "@case<tab>number<tab>title", followed by its rows (bench/gpu/rows.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace steelyard::bench {

struct Case {
  std::string title;
  std::function<void()> run;  // prints rows; throws if a result is wrong
};

// Faults for tests of the caller: a wrong number, no end, a crash, and a device that is lost.
enum class Planted : std::uint8_t { none, wrong, hang, crash, lost };

// Which cases a process runs.
struct CaseChoice {
  std::size_t from = 0, end = SIZE_MAX;
  bool list = false;  // only announces them
  Planted planted = Planted::none;
  std::size_t planted_at = 0;
};

constexpr int wrong = 1, lost = 3;  // exit codes

// Runs the cases, each despite failures of those before it. Returns 0 or `wrong`; ends the process with
// `lost` if a case fails and the device does not work afterwards.
int run_cases(const std::vector<Case>& cases, const CaseChoice& choice);

// Whether the case that runs must spoil a number of its result, before the comparison (Planted::wrong).
bool must_spoil();

// With --small, and always on the host executor: sizes that the executor can compute in seconds.
bool& small_sizes();

}  // namespace steelyard::bench
