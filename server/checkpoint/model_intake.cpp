#include "server/checkpoint/model_intake.h"

#include <algorithm>

namespace steelyard {
namespace {

std::string megabytes(std::uint64_t floats) {
  return std::to_string(floats / 1'000'000 * sizeof(float)) + " MB";
}

}  // namespace

void ModelIntake::step(Time now, const Envelope& in, Outbox& out) {
  const auto* message = std::get_if<ToScheduler>(&in.message);
  if (message == nullptr || finished()) return;
  // The scheduler's host reports a process that is gone permanently.
  const bool hopeless = in.from == link_node && std::holds_alternative<Goodbye>(*message);
  if (hopeless || std::holds_alternative<Interrupt>(*message)) ended_ = true;
  if (const auto* hello = std::get_if<Hello>(message)) return hear(now, in.from, *hello, out);
  if (in.from != asked_) return;
  heard_ = now;
  if (const auto* model = std::get_if<ModelDescription>(message)) hear(now, *model, out);
  if (const auto* part = std::get_if<Weights>(message)) hear(now, *part, out);
  if (const auto* left = std::get_if<Goodbye>(message))
    give_up(left->failure.empty() ? "it has left" : left->failure, out);
  if (std::holds_alternative<Disconnected>(*message)) give_up("its connection is lost", out);
}

void ModelIntake::wake(Time now, Outbox& out) {
  if (!asked_ || finished()) return;
  if (now - heard_ >= timeout_) return give_up("it does not answer", out);
  if (now < patience()) return;
  give_up("it is too slow: it has sent " + megabytes(weights_.size()) +
              (described_ ? " of " + megabytes(model_.layout.size()) : "") + " within " +
              std::to_string(std::chrono::floor<std::chrono::seconds>(now - asked_since_).count()) + " s",
          out);
}

Time ModelIntake::deadline() const {
  return asked_ && !finished() ? std::min(heard_ + timeout_, patience()) : Time::max();
}

Time ModelIntake::patience() const {
  const std::uint64_t parts = described_ ? model_.layout.size() / floats_at_a_time : 0;
  return asked_since_ + 10 * timeout_ + static_cast<std::int64_t>(parts) * for_a_part;
}

// A node without a Welcome repeats its Hello, which makes up for lost messages.
void ModelIntake::hear(Time now, NodeId from, const Hello& hello, Outbox& out) {
  if (!asked_ && from.role == Role::worker && !in_vain_.contains(from)) {
    asked_ = from;
    asked_since_ = now;
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
    return give_up("the model that it describes is invalid: " + damage, out);
  if (model.train_samples == 0) return give_up("it has no training samples", out);
  if (model.layout.size() > memory_ / sizeof(float)) {
    return give_up("the model that it describes takes " + megabytes(model.layout.size()) +
                       ", and the scheduler's machine has " + megabytes(memory_ / sizeof(float)) +
                       " of memory: make the model smaller, or run the scheduler on a larger machine",
                   out);
  }
  model_ = model;
  described_ = true;
  ask(now, out);
}

void ModelIntake::hear(Time now, const Weights& part, Outbox& out) {
  if (!described_ || part.floats != next_part() || !part.values.holds_floats(part.floats.size())) return;
  const auto values = part.values.floats();
  // All parts fit into memory, and the first has arrived. Reserving costs address space only.
  if (weights_.empty()) weights_.reserve(model_.layout.size());
  weights_.insert(weights_.end(), values.begin(), values.end());
  if (!complete()) ask(now, out);
}

Interval ModelIntake::next_part() const {
  const std::uint64_t begin = weights_.size();
  return {begin, std::min(begin + floats_at_a_time, model_.layout.size())};
}

void ModelIntake::give_up(const std::string& why, Outbox& out) {
  out.send<ToRecorder>(recorder_node, Note{"worker '" + name_ + "' cannot provide the model: " + why});
  in_vain_.insert(*asked_);
  asked_.reset();
  described_ = false;
  weights_ = {};
}

}  // namespace steelyard
