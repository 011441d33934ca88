#include "scheduler/rounds/dispatch.h"

namespace steelyard {

void Dispatch::note(std::string text, Outbox& out) {
  out.send<ToRecorder>(recorder_node, Note{std::move(text)});
}

void Dispatch::roster_to_all(Outbox& out) const {
  if (!admission_.has_all_shards()) return;
  for (const auto& [slot, worker] : members_.workers) roster(worker.node, out);
  roster_to_checkpointer(out);
}

void Dispatch::roster_to_checkpointer(Outbox& out) const {
  if (members_.checkpointer) out.send<ToCheckpointer>(*members_.checkpointer, admission_.roster());
}

void Dispatch::open(Time now, const BeginRound& open, Outbox& out) {
  for (auto& [slot, shard] : members_.shards) {
    shard.opens_sent = now;
    out.send<ToShard>(shard.node, open);
  }
}

void Dispatch::open_again(NodeId shard, const BeginRound& open, Outbox& out) {
  out.send<ToShard>(shard, open);
}

void Dispatch::commit_to_all(Round round, double scale, Outbox& out) const {
  for (const auto& [slot, shard] : members_.shards) commit(shard.node, round, scale, out);
}

void Dispatch::commit(NodeId shard, Round round, double scale, Outbox& out) const {
  out.send<ToShard>(shard, Commit{term_, round, scale});
}

void Dispatch::save(const Progress& progress, Outbox& out) const {
  if (members_.checkpointer) out.send<ToCheckpointer>(*members_.checkpointer, Save{progress});
}

void Dispatch::record(RoundRecord record, Outbox& out) {
  out.send<ToRecorder>(recorder_node, std::move(record));
}

void Dispatch::end(const Ended& ended, Outbox& out) const {
  if (members_.checkpointer)
    out.send<ToCheckpointer>(*members_.checkpointer, Stop{ended.outcome, ended.text});
  out.send<ToRecorder>(recorder_node, ended);
}

void Dispatch::stop(const std::set<NodeId>& members, const Stop& stop, Outbox& out) {
  for (const NodeId node : members) to_member(node, stop, out);
}

}  // namespace steelyard
