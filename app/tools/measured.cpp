#include "app/tools/measured.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "core/json.h"
#include "core/text.h"

namespace steelyard {
namespace {

constexpr std::size_t most_workers = 10'000, most_points = 1000;
constexpr double to_deviation = 1.4826;  // of the median distance from the median, where noise is normal

struct Alone {
  sim::MeasuredTime point;
  double noise = 0, beyond_ms = 0;
};

// Its rounds of full length, and the first of them left out: it pulls all parameters and warms up.
Alone medians_of(const std::string& name, const RunRecord& run) {
  std::uint64_t full = 0;
  for (const RunRound& round : run.rounds)
    if (round.train) full = std::max(full, round.samples());
  std::vector<double> compute, beyond, off;
  bool first = true;
  for (const RunRound& round : run.rounds) {
    if (!round.train || round.samples() != full || full == 0) continue;
    if (std::exchange(first, false)) continue;
    compute.push_back(1000 * round.slowest());
    beyond.push_back(std::max(0.0, 1000 * (round.seconds() - round.slowest())));
  }
  if (compute.empty()) {
    throw Failure(ExitCode::failed,
                  "worker '" + name +
                      "' did not complete two full rounds in its trial: give more --seconds, "
                      "or a smaller train.batch");
  }
  const double ms = median(compute);
  for (const double it : compute) off.push_back(std::abs(it / ms - 1));
  return {{static_cast<double>(full), ms}, to_deviation * median(off), median(beyond)};
}

constexpr char remedy[] = "give the measured.json of an earlier `steelyard plan`, or leave --measured out";

double number(const Json& json, const char* key) {
  const double value = json.at(key).get<double>();
  if (!std::isfinite(value) || value < 0) throw std::out_of_range(std::string(key) + " is below 0");
  return value;
}

}  // namespace

MeasuredWorker measured_worker(const std::string& name, const RunRecord& whole, const RunRecord& coded,
                               double coded_share) {
  const Alone a = medians_of(name, whole), b = medians_of(name, coded);
  MeasuredWorker it{name, sim::as_curve({a.point, b.point}), std::max(a.noise, b.noise)};
  const double transfer = (a.beyond_ms - b.beyond_ms) / (2 * (1 - coded_share));
  it.transfer_ms = std::clamp(transfer, 0.0, a.beyond_ms / 2);
  it.latency_ms = a.beyond_ms / 2 - it.transfer_ms;
  return it;
}

double steady_rate(const RunRecord& run) {
  std::vector<const RunRound*> rounds;
  for (const RunRound& round : run.rounds)
    if (round.train) rounds.push_back(&round);
  double samples = 0, seconds = 0;
  for (std::size_t i = std::min(rounds.size() - 1, (rounds.size() + 3) / 4); i < rounds.size(); ++i) {
    samples += static_cast<double>(rounds[i]->samples());
    seconds += rounds[i]->seconds();
  }
  return seconds > 0 ? samples / seconds : 0;
}

std::string measurements_text(const std::vector<MeasuredWorker>& workers) {
  Json list = Json::array();
  for (const MeasuredWorker& it : workers) {
    Json curve = Json::array();
    for (const sim::MeasuredTime& point : it.curve)
      curve.push_back({{"samples", point.samples}, {"ms", point.ms}});
    list.push_back({{"name", it.name},
                    {"curve", curve},
                    {"noise", it.noise},
                    {"latency_ms", it.latency_ms},
                    {"transfer_ms", it.transfer_ms}});
  }
  return dump_json(Json{{"steelyard_measurements", 1}, {"workers", list}}, 1) + "\n";
}

std::vector<MeasuredWorker> parse_measurements(const std::string& text, const std::string& place) {
  try {
    const Json json = parse_json_strictly(text);
    if (json.at("steelyard_measurements") != 1) throw std::out_of_range("of another release");
    const Json& list = json.at("workers");
    if (list.empty() || list.size() > most_workers) throw std::out_of_range("no workers, or too many");
    std::vector<MeasuredWorker> workers;
    for (const Json& entry : list) {
      MeasuredWorker it{entry.at("name").get<std::string>(),
                        {},
                        number(entry, "noise"),
                        number(entry, "latency_ms"),
                        number(entry, "transfer_ms")};
      const Json& curve = entry.at("curve");
      if (curve.empty() || curve.size() > most_points) throw std::out_of_range("no curve, or too long a one");
      for (const Json& point : curve) it.curve.push_back({number(point, "samples"), number(point, "ms")});
      for (const sim::MeasuredTime& point : it.curve)
        if (point.samples <= 0 || point.ms <= 0) throw std::out_of_range("a time or batch of 0");
      it.curve = sim::as_curve(it.curve);
      workers.push_back(std::move(it));
    }
    return workers;
  } catch (const std::exception& trouble) {
    throw Failure(ExitCode::configuration,
                  place + ": no measurements of workers (" + trouble.what() + "): " + remedy);
  }
}

}  // namespace steelyard
