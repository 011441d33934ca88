#include "app/tools/profile_command.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <thread>

#include "app/config/job_file.h"
#include "app/config/prepare_job.h"
#include "app/processes/processes.h"
#include "app/report/output_file.h"
#include "app/report/terminal_writer.h"
#include "app/tools/profile_bench.h"
#include "app/tools/profile_points.h"
#include "core/error.h"
#include "core/text.h"
#include "protocol/node.h"
#include "worker/compute/thread_count.h"

namespace steelyard {
namespace {

constexpr std::uint64_t least_samples = 128;  // in one measurement: small batches are repeated within it
constexpr std::uint64_t most_pieces = 16;     // so many times at most
constexpr unsigned warm_up = 3;               // pieces that do not count

std::string host_name() {
  std::array<char, 64> host{};
  gethostname(host.data(), host.size() - 1);
  return host.data();
}

Job job_of(const ProfileCommand& command) {
  if (command.job_file.empty() && !command.overrides.empty())
    throw Failure(ExitCode::usage, "--set replaces keys of a job file: name one");
  JobFile file = command.job_file.empty() ? JobFile{} : read_job_file(command.job_file, command.overrides);
  show_notices(file.notices);
  Job job = std::move(file.job);
  if (!command.model.empty() && command.model != job.model) {
    job.model = command.model;
    job.model_options.clear();  // another model has other options
  }
  if (!command.data.empty() && command.data != job.data) {
    job.data = command.data;
    job.data_options.clear();
  }
  job.policy_options.clear();
  return job;
}

// One line that is drawn again on a terminal, and a line for each part elsewhere.
class ProgressLine {
 public:
  ProgressLine(bool quiet, std::size_t all)
      : quiet_(quiet), terminal_(isatty(STDERR_FILENO) == 1), all_(all) {}
  ~ProgressLine() {
    if (!quiet_ && terminal_) std::fputs("\r\033[K", stderr);
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void begin(const std::string& part) {
    part_ = part;
    if (!quiet_ && !terminal_) std::fprintf(stderr, "measuring: %s\n", part.c_str());
  }
  void step() {
    ++done_;
    if (!quiet_ && terminal_)
      std::fprintf(stderr, "\r\033[Kmeasuring: %s, %zu of %zu", part_.c_str(), done_, all_);
  }

 private:
  const bool quiet_, terminal_;
  const std::size_t all_;
  std::size_t done_ = 0;
  std::string part_;
};

// One measurement: seconds for a batch of this size, of each worker of the crew. Of small batches the median
// of several, since a clock and a wake-up weigh more there.
std::vector<double> measure_once(ProfileBench& bench, std::uint64_t samples, unsigned crew) {
  const std::uint64_t pieces = std::clamp<std::uint64_t>(least_samples / samples, 1, most_pieces);
  std::vector<std::vector<double>> of_worker(crew);
  for (std::uint64_t i = 0; i < pieces; ++i) {
    const std::vector<double> seconds = bench.measure(samples, crew);
    for (unsigned w = 0; w < crew; ++w) of_worker[w].push_back(seconds[w]);
  }
  std::vector<double> medians;
  for (const std::vector<double>& it : of_worker) medians.push_back(median(it));
  return medians;
}

std::vector<ProfilePoint> measure_all(ProfileBench& bench, const std::vector<std::uint64_t>& sizes,
                                      unsigned crew, unsigned repeats, ProgressLine& progress) {
  std::map<std::uint64_t, std::vector<double>> seconds;
  for (unsigned i = 0; i < warm_up; ++i) bench.measure(sizes.back(), crew);
  std::vector<std::uint64_t> order = sizes;
  for (unsigned repeat = 0; repeat < repeats; ++repeat) {
    for (const std::uint64_t size : order) {
      for (const double it : measure_once(bench, size, crew)) seconds[size].push_back(it);
      progress.step();
    }
    std::ranges::reverse(order);
  }
  std::vector<ProfilePoint> points;
  for (const auto& [size, measured] : seconds) points.push_back(profile_point(size, measured));
  return points;
}

}  // namespace

int run_profile(const ProfileCommand& command) {
  setenv("OMP_NUM_THREADS", "1", 1);  // as in a worker
  if (!command.name.empty()) check_name("--name", command.name);
  WorkerSpec spec = command.computing;
  spec.name = command.name.empty() ? host_name() : command.name;
  const Device device = device_of(spec);
  const Computing computing{device, thread_count(spec.threads), precision(spec.precision)};
  check_output("--output", command.output);
  Job job = job_of(command);
  const Workload workload = workload_of(job, computing);
  const ModelDescription description = described(workload);
  job.global_batch = description.grain;  // any data set will do
  complete(job, description);
  const std::uint64_t most = std::min(command.max_batch, workload.data.train->size());
  if (most < job.grain) {
    throw Failure(ExitCode::configuration, "--max-batch " + std::to_string(most) + ": model \"" + job.model +
                                               "\" takes its batch statistics over grains of " +
                                               std::to_string(job.grain) + " samples: give that or more");
  }
  const unsigned usual = kind(device) == DeviceKind::gpu
                             ? 1
                             : std::max(1u, std::thread::hardware_concurrency() / computing.threads);
  const unsigned workers = command.workers > 0 ? command.workers : usual;
  const std::vector<std::uint64_t> sizes = profile_sizes(most, job.grain);

  Profile profile{.name = spec.name,
                  .device = name(device),
                  .threads = computing.threads,
                  .precision = spec.precision,
                  .model = job.model,
                  .data = job.data,
                  .workers = workers,
                  .repeats = command.repeats,
                  .alone = {},
                  .together = {}};
  {
    ProfileBench bench(job, workload, workers);
    ProgressLine progress(command.quiet, sizes.size() * command.repeats * (workers > 1 ? 2 : 1));
    progress.begin("one worker alone");
    profile.alone = measure_all(bench, sizes, 1, command.repeats, progress);
    if (workers > 1) {
      progress.begin(std::to_string(workers) + " workers together");
      profile.together = measure_all(bench, sizes, workers, command.repeats, progress);
    }
  }
  if (!command.output.empty()) write_output("--output", command.output, profile_json(profile));
  std::fputs(profile_table(profile).c_str(), stdout);
  return static_cast<int>(ExitCode::ok);
}

}  // namespace steelyard
