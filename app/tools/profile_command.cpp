#include "app/tools/profile_command.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <thread>

#include "app/config/prepare_job.h"
#include "app/processes/processes.h"
#include "app/report/output_file.h"
#include "app/report/terminal_text.h"
#include "app/report/terminal_writer.h"
#include "app/tools/profile_bench.h"
#include "balancing/cost/correlation.h"
#include "balancing/cost/curves.h"
#include "core/check.h"
#include "core/error.h"
#include "core/json.h"
#include "core/processor.h"
#include "core/text.h"
#include "protocol/node.h"
#include "worker/compute/thread_count.h"

namespace steelyard {
namespace {

constexpr std::uint64_t least_samples = 128;  // per measurement: smaller batches are repeated within it
constexpr std::uint64_t most_pieces = 16;     // most repetitions within one measurement
constexpr unsigned warm_up = 3;               // pieces before the first measurement

Job job_of(const ProfileCommand& command) {
  if (command.job_file.empty() && !command.overrides.empty())
    refuse_usage("--set replaces keys of a job file: give a job file");
  JobFile file = command.job_file.empty() ? JobFile{} : read_job_file(command.job_file, command.overrides);
  show_notices(file.notices);
  Job job = std::move(file.job);
  if (!command.model.empty() && command.model != job.model) {
    job.model = command.model;
    job.model_options.clear();  // another model has other options, and layers of its own
    job.model_layers.clear();
  }
  if (!command.data.empty() && command.data != job.data) {
    job.data = command.data;
    job.data_options.clear();
  }
  job.policy_options.clear();
  return job;
}

// A line that is updated in place on a terminal; otherwise one line for each part.
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

// One measurement: seconds for a batch of this size, for each of the first `crew` workers. For small batches
// the median of several, since the clock and thread wake-ups weigh more there.
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

constexpr double noisy = 0.1;  // a larger spread causes a warning
constexpr int digits = 4;      // significant digits of times

// Interpolates linearly.
double quantile(const std::vector<double>& sorted, double part) {
  const double place = part * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(place);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (place - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

double rounded_points(double value) {
  if (value == 0) return 0;
  const double scale = std::pow(10, digits - 1 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

Json points_json(const std::vector<ProfilePoint>& points) {
  auto list = Json::array();
  for (const ProfilePoint& it : points) {
    list.push_back(
        {{"samples", it.samples}, {"ms", rounded_points(it.ms)}, {"spread", rounded_points(it.spread)}});
  }
  return list;
}

std::string line_text(const char* which, const ProfileLine& line) {
  return printed("  %-9s time_ms = [%.4g, %.4g], largest error %.0f %%\n", which, line.constant,
                 line.per_sample, 100 * line.error);
}

std::string cubic_text(const char* which, const ProfileCubic& cubic) {
  return printed("  %-9s %.4g %.4g %.4g %.4g, Pearson %.4f, Spearman %.4f\n", which, cubic.ms[0], cubic.ms[1],
                 cubic.ms[2], cubic.ms[3], cubic.pearson, cubic.spearman);
}

}  // namespace

void run_profile(const ProfileCommand& command) {
  setenv("OMP_NUM_THREADS", "1", 1);  // as in a worker
  if (!command.name.empty()) check_name("--name", command.name);
  WorkerSpec spec = command.computing;
  spec.name = command.name.empty() ? host_name() : command.name;
  const Device device = device_of(spec);
  const Computing computing{.device = device,
                            .threads = thread_count(spec.threads),
                            .precision = precision(spec.precision),
                            .recompute = spec.recompute};
  check_output("--output", command.output);
  Job job = job_of(command);
  job.global_batch = std::clamp<std::uint64_t>(command.max_batch, 1, nn::largest_share);  // its largest share
  const Workload workload = workload_of(job, computing);
  const ModelDescription description = described(workload);
  job.global_batch = description.grain;  // so that any data set has a round
  complete(job, description);
  const std::uint64_t most = std::min(command.max_batch, workload.data.train->size());
  if (most < job.grain) {
    refuse_setup("--max-batch " + std::to_string(most) + ": model \"" + job.model +
                 "\" computes batch statistics over grains of " + std::to_string(job.grain) +
                 " samples: give at least that many");
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
}

std::vector<std::uint64_t> profile_sizes(std::uint64_t most, std::uint64_t grain) {
  most /= grain;
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t power = 1; power <= most; power *= 2) {
    sizes.push_back(power);
    if (power >= 8) sizes.push_back(power + power / 2);
  }
  std::erase_if(sizes, [&](std::uint64_t size) { return size > most; });
  if (sizes.empty() || sizes.back() != most) sizes.push_back(most);
  for (std::uint64_t& size : sizes) size *= grain;
  return sizes;
}

ProfilePoint profile_point(std::uint64_t samples, std::vector<double> seconds) {
  CHECK(!seconds.empty(), "a point without measurements");
  std::ranges::sort(seconds);
  const double middle = quantile(seconds, 0.5);
  const double spread = middle > 0 ? (quantile(seconds, 0.75) - quantile(seconds, 0.25)) / middle : 0;
  return {samples, 1000 * middle, spread};
}

// Least squares on (a + b x - t) / t, with equal weights. A term that would be negative is set to 0, and the
// other is fitted alone.
ProfileLine profile_line(const std::vector<ProfilePoint>& points) {
  double one = 0, x = 0, xx = 0, t = 0, tx = 0;
  for (const ProfilePoint& it : points) {
    if (it.ms <= 0) continue;
    const double u = 1 / it.ms, v = static_cast<double>(it.samples) / it.ms;
    one += u * u, x += u * v, xx += v * v, t += u, tx += v;
  }
  ProfileLine line;
  if (xx == 0) return line;
  const double determinant = one * xx - x * x;
  if (determinant > 1e-12 * one * xx) {
    line.constant = (t * xx - tx * x) / determinant;
    line.per_sample = (one * tx - x * t) / determinant;
  }
  if (line.constant <= 0) line = {0, tx / xx, 0};
  if (line.per_sample < 0) line = {t / one, 0, 0};
  for (const ProfilePoint& it : points) {
    const double guess = line.constant + line.per_sample * static_cast<double>(it.samples);
    if (it.ms > 0) line.error = std::max(line.error, std::abs(guess / it.ms - 1));
  }
  return line;
}

ProfileCubic profile_cubic(const std::vector<ProfilePoint>& points) {
  std::vector<balancing::TimedBatch> batches;
  for (const ProfilePoint& it : points) {
    if (it.ms > 0) batches.push_back({static_cast<double>(it.samples), it.ms});
  }
  if (batches.empty()) return {};
  const balancing::Cubic curve = balancing::fit_cubic(batches);
  std::vector<double> measured, fitted;
  for (const balancing::TimedBatch& it : batches)
    measured.push_back(it.seconds), fitted.push_back(curve(it.samples));
  return {curve.terms, balancing::pearson(fitted, measured), balancing::spearman(fitted, measured)};
}

std::string profile_table(const Profile& profile) {
  const bool many = !profile.together.empty();
  std::string head = profile.model + " on " + profile.data + ", " + profile.device + ", ";
  if (profile.threads > 1) head += std::to_string(profile.threads) + " threads, ";
  if (profile.precision != "float32") head += profile.precision + ", ";
  head += profile.name + ": median of " + std::to_string(profile.repeats);
  std::string text = wrapped(shown_line(head), summary_width, 2) + "\n";
  text += "          alone                         ";
  text += many ? printed("each of %u together\n", profile.workers) : "\n";
  text += " samples        ms  samples/s  spread";
  text += many ? "          ms  samples/s  spread   slower\n" : "\n";
  double worst = 0;
  const auto cells = [&](const ProfilePoint& it) {
    worst = std::max(worst, it.spread);
    const double speed = it.ms > 0 ? 1000 * static_cast<double>(it.samples) / it.ms : 0;
    return printed("%10.3f %10.0f %5.1f %%", it.ms, speed, 100 * it.spread);
  };
  for (std::size_t i = 0; i < profile.alone.size(); ++i) {
    const ProfilePoint& alone = profile.alone[i];
    text += printed("%8llu", static_cast<unsigned long long>(alone.samples)) + cells(alone);
    if (many) {
      const ProfilePoint& all = profile.together[i];
      text += "  " + cells(all) + printed(" %7.2fx", alone.ms > 0 ? all.ms / alone.ms : 0);
    }
    text += "\n";
  }
  text += "as a line, for scenarios and for policy.static.curves_ms:\n";
  text += line_text("alone", profile_line(profile.alone));
  if (many) text += line_text("together", profile_line(profile.together));
  text += "as a cubic, for policy.lbb.profile_ms and cluster.profile_ms:\n";
  text += cubic_text("alone", profile_cubic(profile.alone));
  if (many) text += cubic_text("together", profile_cubic(profile.together));
  if (worst > noisy) {
    const std::string advice = printed(
        "The times are noisy: the interquartile range is up to %.0f %% of the median. Stop other programs "
        "on this machine, or raise --repeats.",
        100 * worst);
    text += wrapped(advice, summary_width, 0) + "\n";
  }
  return text;
}

std::string profile_json(const Profile& profile) {
  Json json;
  json["steelyard_profile"] = 1;
  json["name"] = profile.name;
  json["device"] = profile.device;
  json["threads"] = profile.threads;
  json["precision"] = profile.precision;
  json["model"] = profile.model;
  json["data"] = profile.data;
  json["workers"] = profile.workers;
  json["repeats"] = profile.repeats;
  json["alone"] = points_json(profile.alone);
  json["together"] = points_json(profile.together);
  return dump_json(json, 1) + "\n";
}

}  // namespace steelyard
