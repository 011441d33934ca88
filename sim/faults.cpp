#include "sim/faults.h"

#include <algorithm>

namespace steelyard::sim {
namespace {

using Effect = Fault::Effect;

bool of_sending(Effect effect) { return effect == Effect::delay || effect == Effect::hold; }
bool of_nodes(Effect effect) { return effect == Effect::pause || effect == Effect::kill; }

}  // namespace

bool of_host(const Message& message) {
  return says<ToScheduler, Disconnected, VersionMismatch, Interrupt>(message) ||
         says<ToShard, Disconnected, VersionMismatch, Interrupt>(message) ||
         says<ToWorker, Disconnected, VersionMismatch, Unreachable, Interrupt>(message) ||
         says<ToCheckpointer, Disconnected, VersionMismatch, Unreachable>(message) ||
         says<ToStandby, Disconnected, VersionMismatch, Unreachable, Interrupt>(message);
}

Faults::Faults(std::vector<Fault> faults, std::uint64_t seed)
    : faults_(std::move(faults)), seen_(faults_.size()), random_(hash(seed, 0xFA17)) {}

bool Faults::strikes(std::size_t number, const Envelope& envelope, Time now) {
  const Fault& fault = faults_[number];
  if (now < fault.begin || now >= fault.end) return false;
  if (!fault.from.is(envelope.from) || !fault.to.is(envelope.to)) return false;
  if (fault.kind != nullptr && !fault.kind(envelope.message)) return false;
  const bool travels = envelope.from.role != Role::compute && !of_host(envelope.message);
  if (!travels && !of_nodes(fault.effect)) return false;
  const std::uint64_t at = seen_[number]++;
  if (at < fault.first || at - fault.first >= fault.count) return false;
  return fault.chance >= 1 || happens(fault.chance);
}

Duration Faults::draw(const Fault& fault) {
  const double between = seconds(fault.most - fault.least);
  return between <= 0 ? fault.least : fault.least + from_seconds(random_.uniform() * between);
}

Duration Faults::delay(const Envelope& envelope, Time now) {
  Duration late{};
  for (std::size_t i = 0; i < faults_.size(); ++i) {
    if (!of_sending(faults_[i].effect) || !strikes(i, envelope, now)) continue;
    late =
        faults_[i].effect == Effect::delay ? late + draw(faults_[i]) : std::max(late, faults_[i].end - now);
  }
  return late;
}

std::vector<const Fault*> Faults::strike(const Envelope& envelope, Time now) {
  std::vector<const Fault*> all;
  for (std::size_t i = 0; i < faults_.size(); ++i) {
    if (!of_sending(faults_[i].effect) && strikes(i, envelope, now)) all.push_back(&faults_[i]);
  }
  return all;
}

}  // namespace steelyard::sim
