#include "server/model_intake.h"

#include <algorithm>

namespace steelyard {

void ModelIntake::step(Time now, const Envelope& in, Outbox& out) {
  const auto* message = std::get_if<ToScheduler>(&in.message);
  if (message == nullptr || finished()) return;
  // Of a process that is gone for good, the scheduler's own host says so.
  const bool hopeless = in.from == link_node && std::holds_alternative<Leave>(*message);
  if (hopeless || std::holds_alternative<Interrupt>(*message)) ended_ = true;
  if (const auto* hello = std::get_if<Hello>(message)) return hear(now, in.from, *hello, out);
  if (in.from != asked_) return;
  heard_ = now;
  if (const auto* model = std::get_if<ModelDescription>(message)) hear(now, *model, out);
  if (const auto* part = std::get_if<Weights>(message)) hear(now, *part, out);
  if (const auto* left = std::get_if<Leave>(message))
    give_up(left->failure.empty() ? "it has left" : left->failure, out);
  if (std::holds_alternative<Disconnected>(*message)) give_up("its connection is gone", out);
}

void ModelIntake::wake(Time now, Outbox& out) {
  if (asked_ && now - heard_ >= timeout_) give_up("it does not answer", out);
}

Time ModelIntake::deadline() const { return asked_ && !finished() ? heard_ + timeout_ : Time::max(); }

// Whoever has not been welcomed repeats its Hello. So what was lost is asked again.
void ModelIntake::hear(Time now, NodeId from, const Hello& hello, Outbox& out) {
  if (!asked_ && from.role == Role::worker && !in_vain_.contains(from)) {
    asked_ = from;
    name_ = hello.name;
  }
  if (from == asked_) return ask(now, out);
  if (from.role == Role::worker) out.send<ToWorker>(from, SchedulerBeat{});
  if (from.role == Role::shard) out.send<ToShard>(from, SchedulerBeat{});
}

void ModelIntake::ask(Time now, Outbox& out) {
  heard_ = now;
  if (described_) {
    out.send<ToWorker>(*asked_, AskWeights{seed_, next_part()});
  } else {
    out.send<ToWorker>(*asked_, AskModel{});
  }
}

void ModelIntake::hear(Time now, const ModelDescription& model, Outbox& out) {
  if (described_) return;
  if (model.layout.ranges.empty()) return give_up("it brings no model", out);
  if (const std::string damage = damage_of(model.layout); !damage.empty())
    return give_up("the model that it describes is none: " + damage, out);
  if (model.train_samples == 0) return give_up("it has no training samples", out);
  model_ = model;
  described_ = true;
  weights_.reserve(model_.layout.size());
  ask(now, out);
}

void ModelIntake::hear(Time now, const Weights& part, Outbox& out) {
  if (!described_ || part.floats != next_part() || !part.values.holds_floats(part.floats.size())) return;
  const auto values = part.values.floats();
  weights_.insert(weights_.end(), values.begin(), values.end());
  if (!complete()) ask(now, out);
}

Interval ModelIntake::next_part() const {
  const std::uint64_t begin = weights_.size();
  return {begin, std::min(begin + floats_at_a_time, model_.layout.size())};
}

void ModelIntake::give_up(const std::string& why, Outbox& out) {
  out.send<ToRecorder>(recorder_node, Note{"worker '" + name_ + "' cannot tell the model: " + why});
  in_vain_.insert(*asked_);
  asked_.reset();
  described_ = false;
  weights_.clear();
}

}  // namespace steelyard
