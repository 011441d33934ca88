#include "scheduler/recovery/saved_state.h"

#include "core/error.h"
#include "protocol/archive.h"

namespace steelyard {

// The fields of all that a scheduler consists of. What is not here is made of the job, or of where it began.
struct SchedulerFields {
  template <class Archive>
  static constexpr bool loads = Archive::is_loading::value;

  template <class Archive>
  static void of(Archive& archive, Reminder& it) {
    archive(it.since_, it.next_);
  }
  template <class Archive>
  static void of(Archive& archive, balancing::Sample& it) {
    archive(it.slot, it.round, it.samples, it.seconds, it.cpu, it.memory, it.exchange);
  }

  // ---- members

  template <class Archive>
  static void of(Archive& archive, Headway& it) {
    archive(it.progress_, it.moved_, it.longest_, it.unreached_, it.cut_off_since_);
  }
  template <class Archive>
  static void of(Archive& archive, WorkerMember::Contest& it) {
    archive(it.since, it.last);
  }
  template <class Archive>
  static void of(Archive& archive, Room& it) {
    archive(it.left_, it.full_, it.since_, it.out_, it.moved_, it.trial_, it.then_, it.sum_, it.count_,
            it.done_);
  }
  template <class Archive>
  static void of(Archive& archive, WorkerMember& it) {
    archive(it.node, it.slot, it.name, it.kind, it.most, it.ready, it.present, it.last_heard, it.cpu,
            it.memory, it.headway, it.stalled, it.cut_off_said, it.rests_until, it.doubtful, it.contest,
            it.longest_silence, it.room);
  }
  template <class Archive>
  static void of(Archive& archive, ShardMember& it) {
    archive(it.node, it.slot, it.name, it.endpoint, it.last_heard, it.opens_sent, it.loaded, it.broken,
            it.doubtful, it.version, it.added, it.fed, it.parts, it.parts_in_all, it.staleness,
            it.longest_silence, it.broken_since, it.awaited);
  }
  template <class Archive>
  static void of(Archive& archive, MirrorMember& it) {
    archive(it.node, it.slot, it.name, it.endpoint, it.last_heard, it.named, it.filled, it.longest_silence,
            it.late, it.rests_until, it.rest);
  }
  template <class Archive>
  static void of(Archive& archive, Members& it) {
    std::vector<std::pair<NodeId, std::uint32_t>> slots;
    for (const auto& [node, worker] : it.by_node_) slots.emplace_back(node, worker->slot);
    archive(it.workers, it.shards, it.mirrors, it.checkpointer, it.generation, it.slot_of_name_, it.reserved_,
            it.first_free_, slots);
    it.by_node_.clear();
    for (const auto& [node, slot] : slots) it.by_node_.emplace_back(node, &it.workers.at(slot));
  }
  template <class Archive>
  static void of(Archive& archive, StateWatch::Arrival& it) {
    archive(it.parts, it.moved);
  }
  template <class Archive>
  static void of(Archive& archive, StateWatch& it) {
    archive(it.beat_, it.checkpointer_heard_, it.unreached_, it.arrivals_, it.progress_, it.storage_);
  }
  template <class Archive>
  static void of(Archive& archive, Settling& it) {
    archive(it.until_, it.lost_);
  }

  template <class Archive>
  static void of(Archive& archive, Refusals& it) {
    archive(it.noted_, it.since_, it.more_, it.last_);
  }

  // ---- rounds

  template <class Archive>
  static void of(Archive& archive, PieceTold& it) {
    archive(it.seconds, it.loss, it.correct);
  }
  template <class Archive>
  static void of(Archive& archive, PieceUnderway& it) {
    archive(it.done, it.micro_batch, it.since);
  }
  template <class Archive>
  static void of(Archive& archive, PieceCut& it) {
    archive(it.end, it.helper, it.since);
  }
  template <class Archive>
  static void of(Archive& archive, OwedPiece& it) {
    archive(it.positions, it.owner, it.reported, it.since, it.asked_again, it.owner_gone, it.refusals, it.hub,
            it.told, it.underway, it.cut, it.handed, it.before);
  }
  template <class Archive>
  static void of(Archive& archive, RoundState& it) {
    archive(it.open_, it.purpose_, it.least_, it.started_, it.untaken_, it.left_over_, it.pieces_, it.newest_,
            it.unreported_, it.opened, it.squares, it.scale, it.possible, it.closed, it.batch, it.done,
            it.computed_again, it.unseen, it.quotas);
  }
  template <class Archive>
  static void of(Archive& archive, EpochCursor& it) {
    archive(it.round_, it.epoch_, it.offset_, it.length_);
  }
  template <class Archive>
  static void of(Archive& archive, Rounds& it) {
    archive(it.done_, it.ahead_, it.left_over_, it.pause_, it.barrier_, it.evaluation_due_,
            it.evaluated_last_, it.started_, it.last_done_);
    auto count = static_cast<std::uint32_t>(it.states_.size());
    archive(count);
    if constexpr (loads<Archive>) {
      it.states_.clear();
      while (count-- > 0) archive(it.states_.emplace_back(Open{}, Purpose::train, Time{}));
    } else {
      for (RoundState& state : it.states_) archive(state);
    }
  }

  // ---- who computes what

  template <class Archive>
  static void of(Archive& archive, HandOvers& it) {
    archive(it.dealt_, it.usual_);
  }
  template <class Archive>
  static void of(Archive& archive, Planner& it) {
    std::string state = loads<Archive> ? std::string() : it.policy_->save();
    archive(state, it.doubted_);
    if (loads<Archive> && !state.empty()) it.policy_->restore(state);
  }
  template <class Archive>
  static void of(Archive& archive, Assignments& it) {
    archive(it.planner_, it.hand_overs_, it.maybe_idle_, it.next_piece_, it.longest_push_, it.longest_wait_);
  }

  // ---- the job

  template <class Archive>
  static void of(Archive& archive, Checkpoints& it) {
    archive(it.last_due_, it.pending_, it.last_saved_, it.last_answered_, it.trouble_);
  }
  template <class Archive>
  static void of(Archive& archive, Shutdown& it) {
    archive(it.phase_, it.stop_, it.requested_, it.alone_since_, it.last_word_, it.awaited_, it.shards_told_);
  }
  template <class Archive>
  static void of(Archive& archive, Scheduler& it) {
    Training& training = it.training_;
    archive(it.members_, training.rounds_, training.assignments_, training.checkpoints_, training.shutdown_,
            it.admission_.roster_number_, it.mirrors_.attempts_, it.state_watch_, it.headway_watch_.reminder_,
            it.settling_, it.refusals_, it.next_beat_, it.heard_, it.silence_counts_from_, it.ignored_,
            it.shunned_);
  }
};

template <class Archive, class T>
requires requires(Archive& archive, T& it) { SchedulerFields::of(archive, it); }
void serialize(Archive& archive, T& it) { SchedulerFields::of(archive, it); }

std::string save_state(const Scheduler& scheduler, Time now) {
  Writer writer;
  writer.now = now;
  SchedulerFields::of(writer, const_cast<Scheduler&>(scheduler));  // read alone
  return {reinterpret_cast<const char*>(writer.header.data()), writer.header.size()};
}

void restore_state(Scheduler& scheduler, std::string_view state, Time now) {
  Reader reader(std::as_bytes(std::span(state)), {});
  reader.now = now;
  try {
    SchedulerFields::of(reader, scheduler);
    if (reader.remaining() != 0) throw Malformed("has more than a scheduler's state");
  } catch (const std::exception& trouble) {
    throw Failure(ExitCode::io, std::string("a scheduler's saved state: ") + trouble.what());
  }
}

}  // namespace steelyard
