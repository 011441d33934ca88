#include "tests/fuzz/entry.h"
#include "tests/fuzz/message_list.h"
#include "tests/server/shard/shard_case.h"

namespace steelyard::fuzz {
namespace {

using test::ShardCase;
constexpr NodeId mirror_node{Role::shard, 7};

// Rounds of millions of local steps are valid but slow, so they are left out.
bool takes_long(const Message& message) {
  const auto* forward = std::get_if<Replicate>(&std::get<ToShard>(message));
  if (forward == nullptr) return false;
  const auto inner = steelyard::decode(Role::shard, std::as_bytes(std::span(forward->words)), {});
  const auto* content = std::get_if<Message>(&inner);
  const auto* open = content == nullptr ? nullptr : std::get_if<BeginRound>(&std::get<ToShard>(*content));
  return open != nullptr && (open->local.steps > 64 || open->local.passes > 64);
}

}  // namespace

bool mirror_receives(std::span<const std::byte> messages) {
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
  while (!messages.empty()) {
    const std::optional<Message> message = take_message(messages, Role::shard);
    now = now + from_seconds(0.01);
    if (message && !takes_long(*message)) mirror.step(now, {test::shard_node, mirror_node, *message}, out);
    mirror.wake(now, out);
    static_cast<void>(out.take());
  }
  return mirror.is_mirror() && mirror.shard().loaded();
}

std::vector<std::vector<std::byte>> mirror_inputs() {
  ShardCase primary(test::shard_job(10, 4, nn::Optimizer::Kind::momentum));
  std::vector<std::byte> messages;
  std::vector<std::vector<std::byte>> inputs;
  std::uint64_t below = 0;
  const auto deliver = [&](NodeId from, auto message) {
    auto answers = primary.deliver(from, std::move(message));
    while (!answers.empty()) {
      const auto before = below;
      for (const Envelope& it : answers) {
        if (it.to != mirror_node) continue;
        put(messages, it.message);
        ++below;
      }
      if (below == before) return;
      answers = primary.deliver(mirror_node, ReplicateAck{ShardCase::term, 1, below});
    }
  };
  primary.load();
  deliver(scheduler_node, Mirror{ShardCase::term, 1, false, mirror_node, "ipc://mirror"});
  inputs.push_back(messages);
  for (Round round = 0; round < 2; ++round) {
    const Interval positions{round * 8, round * 8 + 8};
    deliver(scheduler_node, BeginRound{ShardCase::term, round, 0, positions, positions.size()});
    for (std::uint32_t slice = 0; slice < primary.slices.size(); ++slice)
      deliver(test::worker_node(1), primary.push(round, positions, slice));
    deliver(test::worker_node(1), Pull{ShardCase::term, round + 1});
    inputs.push_back(messages);
  }
  return inputs;
}

}  // namespace steelyard::fuzz
