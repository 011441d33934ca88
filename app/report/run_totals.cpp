#include "app/report/run_totals.h"

#include <algorithm>
#include <numeric>

#include "app/config/hosts_file.h"
#include "app/report/page/page.h"
#include "app/report/progress_bar.h"
#include "app/report/terminal_text.h"
#include "protocol/sync_mode.h"

namespace steelyard {

std::uint64_t pushes(const Staleness& staleness) {
  return std::accumulate(staleness.begin(), staleness.end(), std::uint64_t{0});
}

double mean_of(const Staleness& staleness) {
  const std::uint64_t all = pushes(staleness);
  double sum = 0;
  for (std::size_t late = 0; late < staleness.size(); ++late)
    sum += static_cast<double>(late) * static_cast<double>(staleness[late]);
  return all > 0 ? sum / static_cast<double>(all) : -1;
}

std::uint64_t quantile_of(const Staleness& staleness, double share) {
  const double enough = share * static_cast<double>(pushes(staleness));
  double seen = 0;
  for (std::size_t late = 0; late < staleness.size(); ++late) {
    seen += static_cast<double>(staleness[late]);
    if (seen >= enough) return late;
  }
  return staleness.empty() ? 0 : staleness.size() - 1;
}

std::string staleness_text(const Staleness& staleness) {
  if (pushes(staleness) == 0) return {};
  const auto within = [&](double share) {
    const std::uint64_t late = quantile_of(staleness, share);
    return std::to_string(late) + (late + 1 == staleness_places ? " or more" : "");
  };
  return fixed(mean_of(staleness), 1) + " updates on average, half within " + within(0.5) + ", 95 % within " +
         within(0.95) + ", all within " + within(1);
}

namespace {

constexpr std::uint64_t warm_up = 10;  // rounds
constexpr double keep = 0.9;           // of the recent sums, from one round to the next

constexpr std::size_t longest_title = 40;  // columns of the summary

// A row of the summary; a long value continues below.
std::string total_row(const std::string& title, const std::string& value) {
  std::string line = "  " + shown_line(title, longest_title);
  const std::size_t columns = columns_of(line);
  line.append(columns < summary_values_at ? summary_values_at - columns : 1, ' ');
  return wrapped(line + shown_line(value), summary_width, summary_values_at) + "\n";
}

}  // namespace

std::vector<WorkerPart> by_worker(const RoundRecord& record) {
  std::map<std::uint32_t, WorkerPart> sums;
  for (const RoundRecord::Part& part : record.parts) {
    WorkerPart& sum =
        sums.try_emplace(part.slot, WorkerPart{part.slot, part.name, 0, 0, part.cpu, part.memory})
            .first->second;
    sum.share += part.share;
    sum.seconds += part.seconds;
  }
  std::vector<WorkerPart> parts;
  for (auto& [slot, part] : sums) parts.push_back(std::move(part));
  std::ranges::stable_sort(parts, natural_less, &WorkerPart::name);
  return parts;
}

RunTotals::RunTotals(const JobFile& file) : waits_(file.job.sync.has_versions()), grain_(file.job.grain) {
  for (const WorkerSpec& worker : file.worker_specs) {
    if (worker.max_batch > 0) most_[worker.name] = worker.max_batch;
  }
}

void RunTotals::Sums::add(double more_samples, double more_seconds) {
  samples += more_samples;
  seconds += more_seconds;
  ++rounds;
}

void RunTotals::add(const RoundRecord& record, const std::vector<WorkerPart>& parts) {
  if (record.purpose == Purpose::evaluate) {
    accuracy_ = record.accuracy;
    test_loss_ = record.loss;
    const bool first = evaluations_++ == 0;
    if (first || (accuracy_ >= 0 ? accuracy_ > best_accuracy_ : test_loss_ < best_loss_)) {
      best_accuracy_ = accuracy_;
      best_loss_ = test_loss_;
      best_round_ = record.round;
    }
    return;
  }
  staleness_ = record.staleness;
  const auto samples = static_cast<double>(record.samples());
  all_.add(samples, record.seconds);
  if (all_.rounds == warm_up + 1) steady_from_ = record.round;
  if (all_.rounds > warm_up) steady_.add(samples, record.seconds);
  recent_samples_ = keep * recent_samples_ + samples;
  recent_seconds_ = keep * recent_seconds_ + record.seconds;

  balancing::RoundTimes times{record.round, record.seconds, {}, grain_ * record.passes};
  for (const WorkerPart& part : parts) {
    const auto limit = most_.find(part.name);
    times.workers.push_back(
        {part.slot, part.share, part.seconds, 1, limit == most_.end() ? UINT64_MAX : limit->second});
    add_part(part);
  }
  ideal_.add(times);
  last_work_ = balancing::work_time(times);
  all_work_ += last_work_;
  if (all_.rounds > warm_up) steady_work_ += last_work_;
}

void RunTotals::add(const Ended& ended) { staleness_ = ended.staleness; }

// By name: a worker that joins again may have another slot, but it is the same worker to the user.
void RunTotals::add_part(const WorkerPart& part) {
  auto sums = std::ranges::lower_bound(workers_, part.name, natural_less, &WorkerSums::name);
  if (sums == workers_.end() || sums->name != part.name)
    sums = workers_.insert(sums, WorkerSums{part.name, 0, 0, 0});
  sums->share += static_cast<double>(part.share);
  sums->seconds += part.seconds;
  ++sums->rounds;
}

double RunTotals::percent_of_ideal() const {
  if (!waits_) return -1;
  return steady_.rounds > 0 ? ideal_.percent_from(steady_from_) : ideal_.percent();
}

balancing::WorkTime RunTotals::work() const {
  if (!waits_) return {};
  return steady_.rounds > 0 ? steady_work_ : all_work_;
}

double RunTotals::recent_samples_per_second() const {
  return recent_seconds_ > 0 ? recent_samples_ / recent_seconds_ : -1;
}

void RunTotals::complete(Verdict& verdict) const {
  verdict.accuracy = accuracy_;
  verdict.test_loss = test_loss();
  verdict.rounds = all_.rounds;
  verdict.staleness = staleness_;
  verdict.samples_per_second = all_.rate();
  verdict.steady_samples_per_second = steady_.rate();
  verdict.percent_of_ideal = all_.rounds > 0 ? percent_of_ideal() : -1;
  verdict.computing = work().computing();
  verdict.efficiency = work().efficiency();
}

std::string RunTotals::summary(const Verdict& v) const {
  const char* steadily = steady_.rounds > 0 ? "after the tenth round" : "few rounds: not reliable";
  const std::string outcome = std::string(name(v.outcome)) + (v.text.empty() ? "" : ": " + v.text);
  std::string text = wrapped(shown_line(outcome), summary_width, 2) + "\n";
  const std::string its_round = ", round " + std::to_string(best_round_) + ")";
  if (accuracy_ >= 0) {
    text += total_row("test accuracy", fixed(100 * accuracy_, 2) + " %   (best " +
                                           fixed(100 * best_accuracy_, 2) + " %" + its_round);
  } else if (evaluations_ > 0) {
    if (v.error.known()) text += total_row("test " + v.error.name, v.error.text());
    text += total_row("test loss", fixed(test_loss_, 4) + "   (best " + fixed(best_loss_, 4) + its_round);
  }
  text += total_row("time", duration_text(v.seconds) + "   (" + std::to_string(all_.rounds) + " rounds)");
  if (all_.rounds > 0) {
    const std::string steady =
        steady_.rounds > 0 ? "   (" + fixed(steady_.rate(), 0) + " after the tenth round)" : "";
    text += total_row("samples per second", fixed(all_.rate(), 0) + steady);
    if (waits_)
      text +=
          total_row("percent of ideal", ideal_text(percent_of_ideal(), false, "") + "   (" + steadily + ")");
    if (const balancing::WorkTime it = work(); it.measured > 0) {
      text += total_row("efficiency", printed("%.0f %%   (computing: %.0f %% of a round)",
                                              100 * it.efficiency(), 100 * it.computing()));
    }
  }
  for (const WorkerSums& sums : workers_) {
    const auto rounds = static_cast<double>(sums.rounds);
    text += total_row(sums.name, printed("%.1f samples in %.2f ms a round", sums.share / rounds,
                                         1e3 * sums.seconds / rounds));
  }
  if (const std::string late = staleness_text(staleness_); !late.empty())
    text += total_row("staleness", late);
  return text + total_row("checkpoint", v.checkpoint.empty() ? "none" : v.checkpoint);
}

}  // namespace steelyard
