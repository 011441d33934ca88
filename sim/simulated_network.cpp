#include "sim/simulated_network.h"

#include <algorithm>

#include "sim/faults.h"

namespace steelyard::sim {
namespace {

bool reports_training(const Message& message) {
  const auto* received = std::get_if<ToScheduler>(&message);
  const auto* report = received == nullptr ? nullptr : std::get_if<Report>(received);
  return report != nullptr && report->piece.purpose == Purpose::train;
}

}  // namespace

double NetworkOptions::model_ms() const { return bandwidth_gbps > 0 ? 8 * model_mb / bandwidth_gbps : 0; }

double NetworkOptions::exchange_ms() const {
  return step_ms + 2 * latency_ms + (coded_share(push_encoding) + coded_share(pull_encoding)) * model_ms();
}

Network::Network(const NetworkOptions& options, std::uint64_t centre, std::uint64_t slices)
    : options_(options),
      centre_(centre),
      slices_(std::max<std::uint64_t>(1, slices)),
      usual_{options.latency_ms, options.model_ms() / static_cast<double>(slices_)} {}

Network::Connection& Network::connection(std::uint64_t outer, std::uint64_t inner) {
  if (links_.size() <= outer) {
    links_.resize(outer + 1, usual_);
    connections_.resize(links_.size() * centre_);
  }
  return inner < centre_ ? connections_[outer * centre_ + inner] : others_[{outer, inner}];
}

void Network::link(NodeId outer, double latency_ms, double bandwidth_gbps) {
  connection(outer.number, 0);
  NetworkOptions own = options_;
  own.bandwidth_gbps = bandwidth_gbps;
  links_[outer.number].latency_ms = latency_ms;
  links_[outer.number].slice_ms = own.model_ms() / static_cast<double>(slices_);
}

void Network::slow(NodeId outer, double factor) {
  connection(outer.number, 0);
  links_[outer.number].slowdown = factor;
}

// The number of float32 slices that take as long; 0 for small messages.
double Network::coded_slices(const Message& message) const {
  if (says<ToShard, Push>(message)) return coded_share(options_.push_encoding);
  const auto* told = std::get_if<ToWorker>(&message);
  const auto* parameters = told == nullptr ? nullptr : std::get_if<Parameters>(told);
  if (parameters == nullptr) return 0;
  return parameters->difference ? coded_share(options_.pull_encoding) : 1;
}

Network::Link Network::link_of(const Envelope& envelope) const {
  const std::uint64_t outer = std::max(envelope.from.number, envelope.to.number);
  return outer < links_.size() ? links_[outer] : usual_;
}

Duration Network::delay(const Envelope& envelope) const {
  const bool fixed = says<ToShard, Push>(envelope.message) || reports_training(envelope.message);
  const Link link = link_of(envelope);
  return from_seconds((link.latency_ms + (fixed ? options_.step_ms : 0)) * link.slowdown / 1000);
}

Time Network::arrival(Time now, const Envelope& envelope, Duration late) {
  const std::uint64_t from = envelope.from.number, to = envelope.to.number;
  const std::uint64_t outer = std::max(from, to), inner = std::min(from, to);
  Connection& between = connection(outer, inner);
  Time& last = from == outer ? between.last_out : between.last_in;
  Link& link = links_[outer];
  const Duration transfer =
      from_seconds(coded_slices(envelope.message) * link.slice_ms * link.slowdown / 1000);
  Time sent = now;
  if (transfer > Duration::zero()) {
    auto& [free, said, first] = link.passing;
    const Time begun = std::max(free, now);
    sent = free = begun + transfer;
    if (from == outer) {
      if (said != now) said = now, first = begun;
      sent = std::max(sent, first + transfer * static_cast<std::int64_t>(slices_));
    }
  }
  last = std::max(last, sent + delay(envelope) + late);
  return last;
}

void Network::cut(NodeId a, NodeId b) {
  ever_cut_ = true;
  const std::uint64_t outer = std::max(a.number, b.number);
  Connection& between = connection(outer, std::min(a.number, b.number));
  // Messages on the connection are lost: nothing waits behind them.
  between = {{}, {}, between.cuts + 1};
  links_[outer].passing = {};
}

std::uint32_t Network::stamp(NodeId a, NodeId b) const {
  if (!ever_cut_) return 0;
  const std::uint64_t outer = std::max(a.number, b.number), inner = std::min(a.number, b.number);
  if (inner < centre_) return outer < links_.size() ? connections_[outer * centre_ + inner].cuts : 0;
  const auto found = others_.find({outer, inner});
  return found == others_.end() ? 0 : found->second.cuts;
}

}  // namespace steelyard::sim
