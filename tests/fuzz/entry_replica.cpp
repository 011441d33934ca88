#include "tests/fuzz/entry.h"
#include "tests/fuzz/said.h"
#include "tests/server/shard/shard_case.h"

namespace steelyard::fuzz {
namespace {

using test::ShardCase;
constexpr NodeId mirror_node{Role::shard, 7};

// A round of millions of local steps is allowed, and takes its time: that is no finding.
bool takes_long(const Message& message) {
  const auto* forward = std::get_if<Replicate>(&std::get<ToShard>(message));
  if (forward == nullptr) return false;
  const auto inner = steelyard::decode(Role::shard, std::as_bytes(std::span(forward->words)), {});
  const auto* said = std::get_if<Message>(&inner);
  const auto* open = said == nullptr ? nullptr : std::get_if<BeginRound>(&std::get<ToShard>(*said));
  return open != nullptr && (open->local.steps > 64 || open->local.passes > 64);
}

}  // namespace

bool hear_as_mirror(std::span<const std::byte> said) {
  Replica mirror({mirror_node, {0, "m", "", DeviceKind::cpu, 0}, {}});
  Outbox out(mirror_node);
  const Job job = test::shard_job(10, 4, nn::Optimizer::Kind::momentum);
  mirror.step(
      Time{},
      {scheduler_node, mirror_node, Message(std::in_place_type<ToShard>, Welcome{ShardCase::term, 0, job})},
      out);
  mirror.step(Time{},
              {scheduler_node, mirror_node,
               Message(std::in_place_type<ToShard>, MirrorOf{ShardCase::term, 1, test::shard_node})},
              out);
  Time now{};
  while (!said.empty()) {
    const std::optional<Message> message = take_message(said, Role::shard);
    now = now + from_seconds(0.01);
    if (message && !takes_long(*message)) mirror.step(now, {test::shard_node, mirror_node, *message}, out);
    mirror.wake(now, out);
    static_cast<void>(out.take());
  }
  return mirror.is_mirror() && mirror.shard().loaded();
}

std::vector<std::vector<std::byte>> mirror_inputs() {
  ShardCase primary(test::shard_job(10, 4, nn::Optimizer::Kind::momentum));
  std::vector<std::byte> said;
  std::vector<std::vector<std::byte>> inputs;
  std::uint64_t below = 0;
  const auto hear = [&](NodeId from, auto message) {
    auto answers = primary.tell(from, std::move(message));
    while (!answers.empty()) {
      const auto before = below;
      for (const Envelope& it : answers) {
        if (it.to != mirror_node) continue;
        put(said, it.message);
        ++below;
      }
      if (below == before) return;
      answers = primary.tell(mirror_node, ReplicateAck{ShardCase::term, 1, below});
    }
  };
  primary.load();
  hear(scheduler_node, Mirror{ShardCase::term, 1, false, mirror_node, "ipc://mirror"});
  inputs.push_back(said);
  for (Round round = 0; round < 2; ++round) {
    const Interval positions{round * 8, round * 8 + 8};
    hear(scheduler_node, BeginRound{ShardCase::term, round, 0, positions, positions.size()});
    for (std::uint32_t slice = 0; slice < primary.slices.size(); ++slice)
      hear(test::worker_node(1), primary.push(round, positions, slice));
    hear(test::worker_node(1), Pull{ShardCase::term, round + 1});
    inputs.push_back(said);
  }
  return inputs;
}

}  // namespace steelyard::fuzz
