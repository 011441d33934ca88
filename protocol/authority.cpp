#include "protocol/authority.h"

namespace steelyard {
namespace {

// One row a message: who says it. What travels on one machine only is never believed from a wire.
struct Speakers {
  Role it;

  [[nodiscard]] bool any() const { return it == Role::worker || it == Role::shard; }

  bool operator()(const Hello&) const { return any(); }
  bool operator()(const Leave&) const { return any(); }
  bool operator()(const ModelDescription&) const { return it == Role::worker; }
  bool operator()(const Weights&) const { return it == Role::worker; }
  bool operator()(const Ready&) const { return it == Role::worker; }
  bool operator()(const PieceProgress&) const { return it == Role::worker; }
  bool operator()(const CutAnswer&) const { return it == Role::worker; }
  bool operator()(const Report&) const { return it == Role::worker; }
  bool operator()(const WorkerBeat&) const { return it == Role::worker; }
  bool operator()(const Ping&) const { return it == Role::worker; }
  bool operator()(const Pull&) const { return it == Role::worker; }
  bool operator()(const PullAck&) const { return it == Role::worker; }
  bool operator()(const Push&) const { return it == Role::worker; }

  bool operator()(const NonFinite&) const { return it == Role::shard; }
  bool operator()(const Covered&) const { return it == Role::shard; }
  bool operator()(const Closed&) const { return it == Role::shard; }
  bool operator()(const ShardBeat&) const { return it == Role::shard; }
  bool operator()(const Pong&) const { return it == Role::shard; }
  bool operator()(const Parameters&) const { return it == Role::shard; }
  bool operator()(const Gone&) const { return it == Role::shard; }
  bool operator()(const State&) const { return it == Role::shard; }
  bool operator()(const Later&) const { return it == Role::shard; }
  bool operator()(const Want&) const { return it == Role::shard; }
  bool operator()(const Forward&) const { return it == Role::shard; }
  bool operator()(const ForwardAck&) const { return it == Role::shard; }

  bool operator()(const Follow&) const { return it == Role::standby; }
  bool operator()(const JournalAck&) const { return it == Role::standby; }
  bool operator()(const Following&) const { return it == Role::scheduler; }
  bool operator()(const JournalPart&) const { return it == Role::scheduler; }
  bool operator()(const Claim&) const { return it == Role::scheduler || it == Role::standby; }
  bool operator()(const Arbitrate&) const { return it == Role::scheduler; }
  bool operator()(const Arbitrates&) const { return it == Role::shard; }
  bool operator()(const Granted&) const { return it == Role::shard; }

  bool operator()(const CheckpointerBeat&) const { return it == Role::checkpointer; }
  bool operator()(const Saved&) const { return it == Role::checkpointer; }
  bool operator()(const Offer&) const { return it == Role::checkpointer; }
  bool operator()(const Load&) const { return it == Role::checkpointer; }
  bool operator()(const Fetch&) const { return it == Role::checkpointer; }

  bool operator()(const AskModel&) const { return it == Role::scheduler; }
  bool operator()(const AskWeights&) const { return it == Role::scheduler; }
  bool operator()(const Welcome&) const { return it == Role::scheduler; }
  bool operator()(const Refuse&) const { return it == Role::scheduler; }
  bool operator()(const Roster&) const { return it == Role::scheduler; }
  bool operator()(const Open&) const { return it == Role::scheduler; }
  bool operator()(const Start&) const { return it == Role::scheduler; }
  bool operator()(const Cut&) const { return it == Role::scheduler; }
  bool operator()(const Commit&) const { return it == Role::scheduler; }
  bool operator()(const Mirror&) const { return it == Role::scheduler; }
  bool operator()(const MirrorOf&) const { return it == Role::scheduler; }
  bool operator()(const Promote&) const { return it == Role::scheduler; }
  bool operator()(const Resend&) const { return it == Role::scheduler; }
  bool operator()(const SchedulerBeat&) const { return it == Role::scheduler; }
  bool operator()(const Save&) const { return it == Role::scheduler; }
  bool operator()(const Stop&) const { return it == Role::scheduler; }

  bool operator()(const Quiet&) const { return false; }
  bool operator()(const Disconnected&) const { return false; }
  bool operator()(const VersionMismatch&) const { return false; }
  bool operator()(const Unreachable&) const { return false; }
  bool operator()(const Interrupt&) const { return false; }
  bool operator()(const GradientReady&) const { return false; }
  bool operator()(const ComputeProgress&) const { return false; }
  bool operator()(const CutTried&) const { return false; }
  bool operator()(const Computed&) const { return false; }
  bool operator()(const MachineLeft&) const { return false; }
};

}  // namespace

bool may_be(KeyRole key, Role node) {
  switch (key) {
    case KeyRole::scheduler:
      return node == Role::scheduler || node == Role::checkpointer || node == Role::standby;
    case KeyRole::server:
      return node == Role::shard;
    case KeyRole::worker:
      return node == Role::worker;
  }
  return false;
}

bool may_say(Role speaker, const Message& message) {
  const auto ask = [&](const auto& receiver) { return std::visit(Speakers{speaker}, receiver); };
  return std::visit(Overloaded{
                        [&](const ToScheduler& it) { return ask(it); },
                        [&](const ToShard& it) { return ask(it); },
                        [&](const ToWorker& it) { return ask(it); },
                        [&](const ToCheckpointer& it) { return ask(it); },
                        [&](const ToStandby& it) { return ask(it); },
                        [](const ToCompute&) { return false; },
                        [](const ToRecorder&) { return false; },
                        [](const ToLink&) { return false; },
                    },
                    message);
}

}  // namespace steelyard
