#include "tests/support/hub_loop.h"

#include <cmath>

#include "protocol/local_steps.h"
#include "tests/support/toy_job.h"

namespace steelyard::test {
namespace {

constexpr double slip = 1e-5;  // tolerance for values of about 1, since averages are rounded

}  // namespace

HubLoop::HubLoop(const Job& job, const Progress& from, std::vector<float> initial)
    : job_(job),
      hubs_(job.sync.hubs),
      first_(from.version),
      cursor_(job, from),
      versions_{Copies(hubs_.count + 1, std::move(initial))},
      weights_(hubs_.count + 1) {}

void HubLoop::given(const Piece& piece) { given_[piece.round][piece.hub].add(piece.positions); }

const std::vector<float>& HubLoop::average(Version version) {
  while (versions_.size() <= version - first_) advance();
  return versions_[version - first_][whole_model];
}

std::string HubLoop::look(Version version, HubNumber hub, std::uint64_t begin,
                          std::span<const float> values) {
  const std::string what =
      "hub " + std::to_string(hub) + " at version " + std::to_string(version) + ", float ";
  (void)average(version);
  if (!trouble_.empty()) return trouble_;
  const std::vector<float>& expected = versions_[version - first_].at(hub);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double wanted = expected.at(begin + i);
    if (std::abs(values[i] - wanted) > slip * (1 + std::abs(wanted)))
      return what + std::to_string(begin + i) + ": " + std::to_string(values[i]) + ", not " +
             std::to_string(wanted);
  }
  return {};
}

// The weighted mean; if all weights are 0, the first hub's copy.
std::vector<float> HubLoop::mean(const std::vector<HubNumber>& of) const {
  std::vector<float> mean = versions_.back()[of.front()];
  double whole = 0;
  for (const HubNumber hub : of) whole += weights_[hub];
  for (std::size_t e = 0; whole > 0 && e < mean.size(); ++e) {
    double sum = 0;
    for (const HubNumber hub : of) sum += weights_[hub] * double{versions_.back()[hub][e]};
    mean[e] = static_cast<float>(sum / whole);
  }
  return mean;
}

void HubLoop::advance() {
  const Interval positions = cursor_.positions();
  const Round round = first_ + versions_.size() - 1;
  const double rate =
      round_rate(job_.schedule, job_.train_samples, cursor_.epoch(), positions, cursor_.local());
  versions_.push_back(versions_.back());
  std::uint64_t count = 0;
  for (const auto& [hub, its] : given_[round]) {
    const auto weight = static_cast<double>(its.count());
    weights_.at(hub) += weight;
    count += its.count();
    for (std::size_t e = 0; e < job_.layout.size(); ++e) {
      double sum = 0;
      for (const Interval& part : its.intervals()) {
        for (Position p = part.begin; p < part.end; ++p) sum += toy_gradient(p, cursor_.epoch(), e);
      }
      versions_.back()[hub][e] -= static_cast<float>(rate * sum / weight);
    }
  }
  if (count != positions.size() || given_[round].contains(whole_model))
    trouble_ = "round " + std::to_string(round) + ": a position belongs to no hub or to two";
  std::vector<HubNumber> all;
  for (HubNumber hub = 1; hub <= hubs_.count; ++hub) all.push_back(hub);
  const bool mixes = hubs_.mix_after(round);
  Copies mixed = versions_.back();
  for (const HubNumber a : all) {
    std::vector<HubNumber> near{a};
    for (const HubNumber b : all) {
      if (hubs_.are_neighbours(a, b)) near.push_back(b);
    }
    if (mixes) mixed[a] = mean(near);
  }
  versions_.back() = std::move(mixed);
  versions_.back()[whole_model] = mean(all);
  if (mixes) weights_.assign(weights_.size(), 0);
  cursor_.advance();
}

}  // namespace steelyard::test
