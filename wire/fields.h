// The fields of every message and of the job description, in the order in which they travel.
//
// Included by the codec, wire/message_text.cpp and scheduler/saved_state.cpp alone. A field added here
// changes the wire: raise `protocol_version`.
#pragma once

#include "wire/archive.h"
#include "wire/messages.h"

#define STEELYARD_FIELDS(Type, ...)            \
  template <class Archive>                     \
  void serialize(Archive& archive, Type& it) { \
    archive(__VA_ARGS__);                      \
  }
#define STEELYARD_NO_FIELDS(Type) \
  template <class Archive>        \
  void serialize(Archive&, Type&) {}

namespace steelyard {

STEELYARD_FIELDS(NodeId, upto(it.role, Role::link), it.number)
STEELYARD_FIELDS(Interval, it.begin, it.end)
STEELYARD_FIELDS(LocalSteps, it.steps, it.passes, it.batch)
STEELYARD_FIELDS(TensorPlace, it.name, it.shape, it.offset)
STEELYARD_FIELDS(Range, it.begin, it.end, upto(it.rule, Rule::mean), it.decay, it.norm_group, it.keep,
                 it.rate)
STEELYARD_FIELDS(Layout, it.tensors, it.ranges, it.slice_size)

namespace nn {
STEELYARD_FIELDS(Optimizer, upto(it.kind, Optimizer::Kind::lamb), it.momentum, it.weight_decay, it.beta1,
                 it.beta2, it.epsilon, it.trust)
STEELYARD_FIELDS(Schedule, upto(it.kind, Schedule::Kind::table), it.base, it.warmup, it.epochs,
                 it.step_epochs, it.step_factor, it.final, it.rates)
}  // namespace nn

STEELYARD_FIELDS(Hubs, it.count, it.mix_every, upto(it.graph, Hubs::Graph::line))
STEELYARD_FIELDS(SyncMode, it.slack, it.local, it.balanced, it.paced, upto(it.span, SyncMode::Span::job),
                 it.on_arrival, it.divide_by_push, it.on_demand, it.equal_weights, it.hand_over,
                 it.need.parts, it.need.of, it.damped,
                 upto(it.compensation, SyncMode::Compensation::adaptive), it.lambda, it.hubs, it.backup)
STEELYARD_FIELDS(Job, it.name, it.seed, it.model, it.model_options, it.data, it.data_options,
                 it.train_samples, it.test_samples, positive(it.labels), positive(it.grain), it.layout,
                 it.global_batch, it.optimizer, it.outer_rate, it.outer_momentum, it.schedule, it.clip_norm,
                 it.epochs, it.rounds, it.seconds, it.target_accuracy, it.evaluate_every, it.checkpoint_every,
                 it.checkpoint_rounds, it.checkpoint_minutes, it.workers, it.shards, it.replicas, it.sync,
                 upto(it.sums, SumOrder::positions), upto(it.push, FloatCode::int4),
                 upto(it.pull, FloatCode::int4), it.policy, it.policy_options, it.heartbeat, it.dead_after,
                 it.gradient_limit, upto(it.bad_gradient, BadGradient::stop), it.server_wait)

STEELYARD_FIELDS(Hello, it.fingerprint, it.name, it.endpoint, upto(it.kind, DeviceKind::gpu), it.max_batch,
                 it.mirror)
STEELYARD_NO_FIELDS(AskModel)
STEELYARD_FIELDS(ModelDescription, it.layout, it.train_samples, it.test_samples, positive(it.labels),
                 positive(it.grain), it.data, it.data_hash, it.mean, it.deviation, it.height, it.width,
                 it.channels, it.classes, it.job)
STEELYARD_FIELDS(AskWeights, it.seed, it.floats)
STEELYARD_FIELDS(Weights, it.floats, it.values)
STEELYARD_FIELDS(Refuse, upto(it.reason, Refusal::replaced), it.text)
STEELYARD_FIELDS(Welcome, it.term, it.slot, it.job)
STEELYARD_FIELDS(ShardPlace, it.node, it.endpoint, it.first, it.last, it.name, it.mirror, it.mirror_endpoint)
STEELYARD_FIELDS(Roster, it.shards, it.number)
STEELYARD_FIELDS(Ping, it.term)
STEELYARD_FIELDS(Pong, it.term)
STEELYARD_FIELDS(StatePart, it.slice, it.slot)
STEELYARD_FIELDS(Offer, it.term)
STEELYARD_FIELDS(Want, it.term, it.parts, it.loaded)
STEELYARD_FIELDS(Load, it.term, it.version, it.slice, it.slot, it.steps, it.values, it.before)
STEELYARD_NO_FIELDS(Ready)

STEELYARD_FIELDS(Open, it.term, it.round, it.epoch, it.positions, it.need, it.gate, it.save, it.local,
                 it.holes)
STEELYARD_FIELDS(Piece, it.id, it.round, upto(it.purpose, Purpose::evaluate), it.epoch, it.positions,
                 it.whole, it.local, it.hub)
STEELYARD_FIELDS(Start, it.term, it.piece, it.least)
STEELYARD_FIELDS(Contribution, it.round, it.positions)
STEELYARD_FIELDS(Pull, it.term, it.version, it.ticket, it.own, it.difference, it.hub)
STEELYARD_FIELDS(PullAck, it.term, it.ticket, it.arrived)
STEELYARD_FIELDS(Parameters, it.term, it.version, it.slice, it.values, it.ticket, it.steps, it.difference)
STEELYARD_FIELDS(Gone, it.wanted, it.oldest)
STEELYARD_FIELDS(Push, it.term, it.piece, it.weight, it.slice, it.values, it.steps)
STEELYARD_FIELDS(Report, it.term, it.piece, it.seconds, anything(it.loss), it.correct, measured(it.cpu),
                 measured(it.memory))
STEELYARD_FIELDS(PieceProgress, it.term, it.piece_id, it.done, it.micro_batch)
STEELYARD_FIELDS(Cut, it.term, it.piece_id, it.end)
STEELYARD_FIELDS(CutAnswer, it.term, it.piece_id, it.asked, it.end)
STEELYARD_FIELDS(NonFinite, it.term, it.piece, it.slice, it.worker, it.excess)
STEELYARD_FIELDS(Covered, it.term, it.round, it.first, anything(it.squares))
STEELYARD_FIELDS(Commit, it.term, it.round, it.scale)
STEELYARD_FIELDS(Closed, it.term, it.version, it.staleness)
STEELYARD_FIELDS(Resend, it.term, it.round, it.positions)

STEELYARD_FIELDS(WorkerBeat, it.term, it.held, it.roster, it.unreached, it.progress, it.left)
STEELYARD_FIELDS(MirrorState, it.attempt, it.filled, it.late, it.fed)
STEELYARD_FIELDS(ShardBeat, it.term, it.version, it.opened, it.loaded, it.gaps, it.covered, it.added,
                 it.parts, it.parts_in_all, it.mirror)
STEELYARD_FIELDS(SilentShard, it.node, it.why)
STEELYARD_FIELDS(CheckpointerBeat, it.silent, it.roster)
STEELYARD_FIELDS(SchedulerBeat, it.term, it.generation)

STEELYARD_FIELDS(Progress, it.term, it.version, it.epoch, it.offset, it.seconds, it.policy_state, it.workers)
STEELYARD_FIELDS(Save, it.progress)
STEELYARD_FIELDS(Fetch, it.version, it.parts)
STEELYARD_FIELDS(Later, it.version)
STEELYARD_FIELDS(State, it.version, it.slice, it.slot, it.steps, it.values)
STEELYARD_FIELDS(Saved, it.version, it.ok, it.text)

STEELYARD_FIELDS(Mirror, it.term, it.attempt, it.alone, it.node, it.endpoint)
STEELYARD_FIELDS(MirrorOf, it.term, it.attempt, it.primary)
STEELYARD_FIELDS(Promote, it.term)
STEELYARD_FIELDS(Forward, it.term, it.attempt, it.sequence, it.from, it.words, it.values)
STEELYARD_FIELDS(ForwardAck, it.term, it.attempt, it.below)
STEELYARD_FIELDS(Follow, it.build, it.attempt)
STEELYARD_FIELDS(Following, it.attempt, it.now, it.refusal)
STEELYARD_FIELDS(JournalPart, it.attempt, it.begin, it.bytes)
STEELYARD_FIELDS(JournalAck, it.attempt, it.below)
STEELYARD_FIELDS(Arbitrate, it.term, it.attempt, it.generation)
STEELYARD_FIELDS(Arbitrates, it.attempt)
STEELYARD_FIELDS(Claim, it.term, it.attempt, it.shard, it.generation, it.standby)
STEELYARD_FIELDS(Granted, it.attempt, it.granted)
STEELYARD_FIELDS(Quiet, it.nothing_added)

STEELYARD_FIELDS(Stop, upto(it.outcome, Outcome::worker_failed), it.text, it.has_last, it.last, it.keeper)
STEELYARD_FIELDS(Leave, it.failure)

}  // namespace steelyard

#undef STEELYARD_FIELDS
#undef STEELYARD_NO_FIELDS
