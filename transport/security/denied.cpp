#include "transport/security/denied.h"

#include <algorithm>

namespace steelyard {
namespace {

constexpr Duration between_trials = std::chrono::seconds(1);

}  // namespace

bool Denied::add(NodeId node, const std::string& endpoint, const std::string& why, Time now) {
  ++times_;
  const auto [place, first] = nodes_.try_emplace(node);
  Reason& known = place->second;
  const bool is_new = first || known.endpoint != endpoint || known.why != why;
  known = {endpoint, why, now + between_trials};
  return is_new;
}

bool Denied::has(NodeId node, const std::string& endpoint) const {
  const auto known = nodes_.find(node);
  return known != nodes_.end() && known->second.endpoint == endpoint;
}

std::vector<Denied::Trial> Denied::due(Time now) {
  std::vector<Trial> trials;
  for (auto& [node, it] : nodes_) {
    if (now < it.again) continue;
    it.again = Time::max();  // until this trial has failed
    trials.push_back({node, it.endpoint});
  }
  return trials;
}

Time Denied::deadline() const {
  Time next = Time::max();
  for (const auto& [node, it] : nodes_) next = std::min(next, it.again);
  return next;
}

}  // namespace steelyard
