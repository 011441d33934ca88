// The fields of every message and of the job description, in the order in which they travel.
//
// Included by the codec, protocol/message_text.cpp and scheduler/recovery/saved_state.cpp alone. A field
// added here changes the wire: raise `protocol_version`. Each list and string has a bound
// (protocol/limits.h).
#pragma once

#include "protocol/archive.h"
#include "protocol/limits.h"
#include "protocol/messages.h"

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
STEELYARD_FIELDS(TensorPlace, bounded(it.name, limits::label), bounded(it.shape, limits::dimensions),
                 it.offset)
STEELYARD_FIELDS(Range, it.begin, it.end, upto(it.rule, Rule::mean), it.decay, it.norm_group, it.keep,
                 it.rate)
STEELYARD_FIELDS(Layout, bounded(it.tensors, limits::tensors), bounded(it.ranges, limits::ranges),
                 it.slice_size)

namespace nn {
STEELYARD_FIELDS(Optimizer, upto(it.kind, Optimizer::Kind::lamb), it.momentum, it.weight_decay, it.beta1,
                 it.beta2, it.epsilon, it.trust)
STEELYARD_FIELDS(Schedule, upto(it.kind, Schedule::Kind::table), it.base, it.warmup, it.epochs,
                 it.step_epochs, it.step_factor, it.final, bounded(it.rates, max_rates))
}  // namespace nn

STEELYARD_FIELDS(Hubs, it.count, it.mix_every, upto(it.graph, Hubs::Graph::line))
STEELYARD_FIELDS(SyncMode, it.slack, it.local, it.balanced, it.paced, upto(it.span, SyncMode::Span::job),
                 it.on_arrival, it.divide_by_push, it.on_demand, it.equal_weights, it.hand_over,
                 it.need.parts, it.need.of, it.damped,
                 upto(it.compensation, SyncMode::Compensation::adaptive), it.lambda, it.hubs, it.backup)
STEELYARD_FIELDS(Job, bounded(it.name, limits::name), it.seed, bounded(it.model, limits::label),
                 bounded(it.model_options, limits::options, limits::label), bounded(it.data, limits::label),
                 bounded(it.data_options, limits::options, limits::value), it.train_samples, it.test_samples,
                 positive(it.labels), positive(it.grain), it.layout, it.global_batch, it.optimizer,
                 it.outer_rate, it.outer_momentum, it.schedule, it.clip_norm, it.epochs, it.rounds,
                 it.seconds, it.target_accuracy, it.evaluate_every, it.checkpoint_every, it.checkpoint_rounds,
                 it.checkpoint_minutes, it.workers, it.shards, it.replicas, it.sync,
                 upto(it.sums, SumOrder::positions), upto(it.push, FloatCode::int4),
                 upto(it.pull, FloatCode::int4), bounded(it.policy, limits::label),
                 bounded(it.policy_options, limits::options, limits::value), it.heartbeat, it.dead_after,
                 it.gradient_limit, upto(it.bad_gradient, BadGradient::stop), it.server_wait)

STEELYARD_FIELDS(Hello, it.fingerprint, bounded(it.name, limits::name),
                 bounded(it.endpoint, limits::endpoint), upto(it.kind, DeviceKind::gpu), it.max_batch,
                 it.mirror)
STEELYARD_NO_FIELDS(AskModel)
STEELYARD_FIELDS(ModelDescription, it.layout, it.train_samples, it.test_samples, positive(it.labels),
                 positive(it.grain), bounded(it.data, limits::label), bounded(it.data_hash, limits::label),
                 bounded(it.mean, limits::channels), bounded(it.deviation, limits::channels), it.height,
                 it.width, it.channels, it.classes, bounded(it.job, limits::job_file))
STEELYARD_FIELDS(AskWeights, it.seed, it.floats)
STEELYARD_FIELDS(Weights, it.floats, it.values)
STEELYARD_FIELDS(Refuse, upto(it.reason, Refusal::replaced), for_people(it.text, limits::text))
STEELYARD_FIELDS(Welcome, it.term, it.slot, it.job)
STEELYARD_FIELDS(ShardPlace, it.node, bounded(it.endpoint, limits::endpoint), it.first, it.last,
                 bounded(it.name, limits::name), it.mirror, bounded(it.mirror_endpoint, limits::endpoint))
STEELYARD_FIELDS(Roster, bounded(it.shards, limits::shards), it.number)
STEELYARD_FIELDS(Ping, it.term)
STEELYARD_FIELDS(Pong, it.term)
STEELYARD_FIELDS(StatePart, it.slice, it.slot)
STEELYARD_FIELDS(Offer, it.term)
STEELYARD_FIELDS(Want, it.term, bounded(it.parts, limits::parts), it.loaded)
STEELYARD_FIELDS(Load, it.term, it.version, it.slice, it.slot, it.steps, it.values, it.before)
STEELYARD_NO_FIELDS(Ready)

STEELYARD_FIELDS(Open, it.term, it.round, it.epoch, it.positions, it.need, it.gate, it.save, it.local,
                 bounded(it.holes, limits::holes))
STEELYARD_FIELDS(Piece, it.id, it.round, upto(it.purpose, Purpose::evaluate), it.epoch, it.positions,
                 it.whole, it.local, it.hub)
STEELYARD_FIELDS(Start, it.term, it.piece, it.least)
STEELYARD_FIELDS(Contribution, it.round, it.positions)
STEELYARD_FIELDS(Pull, it.term, it.version, it.ticket, bounded(it.own, limits::pieces), it.difference, it.hub)
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
STEELYARD_FIELDS(Covered, it.term, it.round, it.first, anything(it.squares, limits::slices_of_shard))
STEELYARD_FIELDS(Commit, it.term, it.round, it.scale)
STEELYARD_FIELDS(Closed, it.term, it.version, bounded(it.staleness, limits::staleness))
STEELYARD_FIELDS(Resend, it.term, it.round, it.positions)

STEELYARD_FIELDS(WorkerBeat, it.term, bounded(it.held, limits::pieces), it.roster,
                 bounded(it.unreached, limits::shards), it.progress, it.left)
STEELYARD_FIELDS(MirrorState, it.attempt, it.filled, it.late, it.fed)
STEELYARD_FIELDS(ShardBeat, it.term, it.version, it.opened, it.loaded, bounded(it.gaps, limits::gaps),
                 it.covered, it.added, it.parts, it.parts_in_all, it.mirror)
STEELYARD_FIELDS(SilentShard, it.node, for_people(it.why, limits::text))
STEELYARD_FIELDS(CheckpointerBeat, bounded(it.silent, limits::shards), it.roster)
STEELYARD_FIELDS(SchedulerBeat, it.term, it.generation)

STEELYARD_FIELDS(Progress, it.term, it.version, it.epoch, it.offset, it.seconds,
                 bounded(it.policy_state, limits::policy_state),
                 bounded(it.workers, limits::names, limits::name))
STEELYARD_FIELDS(Save, it.progress)
STEELYARD_FIELDS(Fetch, it.version, bounded(it.parts, limits::parts))
STEELYARD_FIELDS(Later, it.version)
STEELYARD_FIELDS(State, it.version, it.slice, it.slot, it.steps, it.values)
STEELYARD_FIELDS(Saved, it.version, it.ok, for_people(it.text, limits::text))

STEELYARD_FIELDS(Mirror, it.term, it.attempt, it.alone, it.node, bounded(it.endpoint, limits::endpoint))
STEELYARD_FIELDS(MirrorOf, it.term, it.attempt, it.primary)
STEELYARD_FIELDS(Promote, it.term)
STEELYARD_FIELDS(Forward, it.term, it.attempt, it.sequence, it.from, bounded(it.words, limits::forwarded),
                 it.values)
STEELYARD_FIELDS(ForwardAck, it.term, it.attempt, it.below)
STEELYARD_FIELDS(Follow, bounded(it.build, limits::label), it.attempt)
STEELYARD_FIELDS(Following, it.attempt, it.now, for_people(it.refusal, limits::text))
STEELYARD_FIELDS(JournalPart, it.attempt, it.begin, bounded(it.bytes, limits::journal_part))
STEELYARD_FIELDS(JournalAck, it.attempt, it.below)
STEELYARD_FIELDS(Arbitrate, it.term, it.attempt, it.generation)
STEELYARD_FIELDS(Arbitrates, it.attempt)
STEELYARD_FIELDS(Claim, it.term, it.attempt, it.shard, it.generation, it.standby)
STEELYARD_FIELDS(Granted, it.attempt, it.granted)
STEELYARD_FIELDS(Quiet, it.nothing_added)

STEELYARD_FIELDS(Stop, upto(it.outcome, Outcome::worker_failed), for_people(it.text, limits::text),
                 it.has_last, it.last, it.keeper)
STEELYARD_FIELDS(Leave, for_people(it.failure, limits::text))

}  // namespace steelyard

#undef STEELYARD_FIELDS
#undef STEELYARD_NO_FIELDS
