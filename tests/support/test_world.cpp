#include "tests/support/test_world.h"

#include <algorithm>
#include <cmath>

#include "balancing/policies.h"
#include "server/checkpoint/checkpoint.h"
#include "server/mirror/replica.h"
#include "worker/worker.h"

namespace steelyard::test {
namespace {

constexpr std::uint64_t centre = 64;
constexpr double lost_with_sender = 0.3;

sim::Faults faults_of(const World::Options& options) {
  std::vector<sim::Fault> faults{{.effect = sim::Fault::Effect::delay, .most = milliseconds(2)}};
  faults.insert(faults.end(), options.faults.begin(), options.faults.end());
  return {std::move(faults), options.seed};
}

std::vector<float> initial_of(const Job& job, const World::Options& options) {
  std::vector<float> initial = options.initial;
  initial.resize(job.layout.size());
  return initial;
}

}  // namespace

World::World(Job job, Options options)
    : job_(std::move(job)),
      mode_(job_.sync),
      options_(std::move(options)),
      random_(options_.seed),
      world_(sim::Network({}, centre, 1), *this, faults_of(options_), lost_with_sender),
      checks_(job_, options_.from, initial_of(job_, options_)),
      invariants_(
          sim::InvariantsWatch::When::steps,
          [this](const std::string& trouble) { checks_.complain(trouble); },
          [this](const sim::Hosted&) -> const Scheduler& { return *scheduler_; }) {
  dies_at_ = options_.scheduler_dies_at;
  write_down(JournalHead{"world", job_, options_.from, {}});
  world_.watch(*this);
  world_.watch(checks_);
  world_.watch(invariants_);
  start_scheduler(job_, options_.from);
  start_checkpointer(checkpointer_);
  if (options_.standby) start_standby();
}

void World::start_checkpointer(NodeId node) {
  checkpointer_ = node;
  Snapshot initial;
  initial.progress = options_.from;
  initial.layout = job_.layout;
  initial.parameters = initial_of(job_, options_);
  const auto store = [this](const Snapshot& snapshot) {
    stored_.push_back(snapshot);
    checks_.stored(snapshot);
    return std::string("memory");
  };
  auto& checkpointer =
      world_.start<Checkpointer>(node, node, std::move(initial), state_slots(job_), in_memory(store));
  for (const Snapshot& its : stored_) checkpointer.remember({its.progress.version, true, "memory"});
}

// ---- loss and restart of the scheduler

void World::start_scheduler(const Job& job, const Progress& from) {
  scheduler_ = std::make_unique<Scheduler>(job, from, policy());
  const auto write = [this](const std::vector<std::byte>& record) {
    if (options_.journal_late_ms > 0)
      unwritten_.push_back({world_.now() + from_seconds(options_.journal_late_ms / 1000), journal_.size()});
    journal_.insert(journal_.end(), record.begin(), record.end());
    return true;
  };
  const auto condense = [this](const std::vector<std::byte>& records) {
    journal_.clear();
    write_down(JournalHead{"world", job_, options_.from, {}});
    journal_.insert(journal_.end(), records.begin(), records.end());
    unwritten_.clear();  // the new file is written as a whole
    recorded_before_ = recorded_;
    ++condensed_;
    return true;
  };
  Journaled::Options options{{"world", [this] { return journal_; }}, condense, options_.condense_after};
  if (options_.journal_late_ms > 0) options.pending = [this] { return unwritten(); };
  journaled_ = &world_.start<Journaled>(scheduler_node, *scheduler_, write, options);
}

void World::kill_scheduler() {
  if (scheduler_ == nullptr && reclaim_ == nullptr) return;
  const bool elsewhere = standby_ != nullptr && standby_->counts();
  const double away = elsewhere ? options_.back_late_s : random_.uniform() * options_.back_within_ms / 1000;
  back_at_ = std::isinf(away) ? Time::max() : world_.now() + from_seconds(away);
  world_.kill(checkpointer_);
  world_.kill(scheduler_node);
  if (std::exchange(reclaim_, nullptr) != nullptr) world_.kill(reclaim_node_);
  scheduler_.reset();
  lose_unwritten();
}

std::size_t World::unwritten() {
  while (!unwritten_.empty() && unwritten_.front().until <= world_.now()) unwritten_.pop_front();
  return unwritten_.size();
}

// The next scheduler has an older state than this one had.
void World::lose_unwritten() {
  if (unwritten() == 0) return;
  journal_.resize(std::min(journal_.size(), unwritten_.front().begin));
  unwritten_.clear();
  invariants_.begin_anew();
}

// ---- its standby

void World::start_standby() {
  standby_node_ = {Role::standby, world_.size()};
  standby_ = &world_.start<Standby>(
      standby_node_, Standby::Options{"world", 7, from_seconds(60), [this] { standbys_journal_.clear(); },
                                      [this](const JournalRecord& it) { standby_writes(it); },
                                      [this] { return arbiter(); }});
}

void World::standby_writes(const JournalRecord& record) {
  if (std::holds_alternative<Condensed>(record.what)) {
    JournalReader reader(standbys_journal_);
    const JournalRecord head = reader.next().value();
    standbys_journal_.clear();
    append(standbys_journal_, head);
  }
  append(standbys_journal_, record);
}

std::optional<Standby::Place> World::arbiter() const {
  JournalReader journal(standbys_journal_);
  const JournalRecord first = journal.next().value();
  const auto& head = std::get<JournalHead>(first.what);
  Scheduler scheduler(*head.job, head.from, policy());
  return arbiter_in(replay(journal, scheduler, [](const JournalRecord&, const std::vector<Envelope>&) {}),
                    scheduler.members());
}

// Records that only the former scheduler has written are lost.
void World::take_over() {
  ++take_overs_;
  kill_scheduler();
  world_.kill(standby_node_);
  journal_ = std::exchange(standbys_journal_, {});
  write_down(TookOver{take_overs_});
  invariants_.begin_anew();
  bring_back();
}

// If a standby counted, the servers must grant the claim before the scheduler listens.
bool World::may_lead() {
  JournalReader journal(journal_);
  const JournalRecord first = journal.next().value();
  const auto& head = std::get<JournalHead>(first.what);
  Scheduler scheduler(*head.job, head.from, policy());
  const StandbyFeed::Follower follower =
      replay(journal, scheduler, [](const JournalRecord&, const std::vector<Envelope>&) {});
  const bool has_ended = scheduler.phase() >= Scheduler::Phase::stopping;
  if ((follower.attempt == 0 || has_ended) && !follower.superseded) return true;
  back_at_ = Time::max();
  if (follower.superseded) return false;
  reclaim_node_ = {Role::standby, world_.size()};
  reclaim_ = &world_.start<Reclaim>(reclaim_node_, scheduler.term(), follower, scheduler.members(),
                                    from_seconds(60));
  return false;
}

void World::reclaimed() {
  const Reclaim::Answer answer = reclaim_->answer();
  world_.kill(reclaim_node_);
  reclaim_ = nullptr;
  if (answer == Reclaim::Answer::refused) write_down(Superseded{});
  if (answer == Reclaim::Answer::granted) bring_back(true);
}

// Its last input is in the journal without an answer, or only a part of it is.
void World::die_at(const Envelope& envelope) {
  if (envelope.to == scheduler_node && scheduler_ != nullptr) {
    write_down(Heard{envelope});
    if (random_.uniform() < 0.5) journal_.resize(journal_.size() - 1 - random_.below(8));
  }
  kill_scheduler();
}

void World::bring_back(bool granted) {
  if (!granted && !may_lead()) return;
  ++restarts_;
  JournalReader journal(journal_);
  const JournalRecord first = journal.next().value();
  const auto& head = std::get<JournalHead>(first.what);
  start_scheduler(*head.job, head.from);
  std::vector<ToRecorder> records = recorded_before_;
  const auto collect = [&](std::vector<Envelope> output) {
    for (Envelope& it : output) {
      if (auto* message = std::get_if<ToRecorder>(&it.message)) records.push_back(std::move(*message));
    }
  };
  replay(journal, *scheduler_,
         [&](const JournalRecord&, std::vector<Envelope> output) { collect(std::move(output)); });
  // With a standby or a slow disk, a replay may lack records.
  const bool all_is_the_schedulers = !options_.standby && options_.journal_late_ms == 0;
  if (all_is_the_schedulers && records.size() < recorded_.size())
    checks_.complain("a replay reports less than was reported");
  recorded_ = std::move(records);
  journal_.resize(journal.read());
  Outbox out(scheduler_node);
  journaled_->restarted(world_.now(), granted, out);
  for (Envelope& it : out.take()) recorded_.push_back(std::get<ToRecorder>(it.message));
  start_checkpointer({Role::checkpointer, world_.size()});
  if (!options_.members_notice) return;
  for (const NodeId node : workers_) world_.tell(node, ToWorker(Disconnected{scheduler_node}));
  for (const NodeId node : shards_) world_.tell(node, ToShard(Disconnected{scheduler_node}));
}

bool World::step() {
  if (standby_ != nullptr && standby_->leads()) take_over();
  if (reclaim_ != nullptr && reclaim_->finished()) reclaimed();
  if (scheduler_ == nullptr && world_.now() >= back_at_) bring_back();
  if (world_.step()) return true;
  if (scheduler_ != nullptr) return false;
  bring_back();  // no other event is left
  return scheduler_ != nullptr || reclaim_ != nullptr;
}

NodeId World::add_worker(const std::string& name) {
  const NodeId node{Role::worker, world_.size()};
  world_.start<Worker>(node,
                       Worker::Options{node, {0, name, "", DeviceKind::cpu, 0}, {}, [](const Welcome&) {}});
  return workers_.emplace_back(node);
}

NodeId World::add_shard(const std::string& name, bool mirror) {
  const NodeId node{Role::shard, world_.size()};
  world_.start<Replica>(node, Shard::Options{node, {0, name, "local", DeviceKind::cpu, 0, mirror}, {}});
  return shards_.emplace_back(node);
}

void World::populate(int workers, int shards) {
  for (int i = 0; i < workers; ++i) add_worker("worker-" + std::to_string(i));
  for (int i = 0; i < shards; ++i) add_shard("server-" + std::to_string(i));
  for (int i = 0; i < shards * static_cast<int>(job_.replicas); ++i)
    add_shard("mirror-" + std::to_string(i), true);
}

void World::interrupt() { world_.tell(scheduler_node, ToScheduler(Interrupt{})); }

void World::silence(NodeId worker) {
  on_delivery = [worker](const Envelope& envelope) {
    return envelope.from != worker || envelope.to != scheduler_node ||
           sim::says<ToScheduler, Hello, Ready>(envelope.message);
  };
}

bool World::arrives(const Envelope& envelope) {
  if (dies_at_.erase(world_.delivered()) > 0) die_at(envelope);
  return (!on_delivery || on_delivery(envelope));
}

void World::killed(NodeId node) {
  if (node == standby_node_) standby_ = nullptr;
  if (on_kill) on_kill(node);
}

double World::seconds_for(NodeId worker, const Compute& order, Time) {
  if (takes) return takes(worker, order.piece.positions.size());
  return random_.uniform() * options_.slowest_ms / 1000 * (slowness ? slowness(worker) : 1);
}

std::uint64_t World::micro_batch(const Compute& order) const {
  return mode_.steals_work && order.piece.purpose == Purpose::train ? 2 : 0;
}

// Sends toy gradients slice by slice, from the last to the first.
void World::finish(const Order& done, const Say& say) {
  const Compute& order = done.compute;
  const std::vector<Slice> all = slices(job_.layout);
  for (std::size_t i = order.piece.purpose == Purpose::train ? all.size() : 0; i-- > 0;) {
    std::vector<float> sum(all[i].size());
    for (Position p = order.piece.positions.begin; !mode_.on_arrival && p < order.piece.positions.end; ++p) {
      for (std::uint64_t e = 0; e < sum.size(); ++e)
        sum[e] += toy_gradient(p, order.piece.epoch, all[i].begin + e);
    }
    if (mode_.on_arrival) sum = checks_.footprints().gradient(order, all[i]);
    GradientReady final{order.piece.round, order.piece.id, static_cast<std::uint32_t>(i), Blob::copy_of(sum)};
    if (on_gradient) on_gradient(final);
    say(std::move(final));
  }
  Report report{0, order.piece};
  report.seconds = done.seconds + 1e-6;
  report.correct = order.piece.positions.size() / 2;
  say(Computed{report});
}

bool World::is_mirrored(NodeId shard) const {
  return sim::machine_of<Replica>(*world_.find(shard)).is_mirrored();
}

std::vector<float> World::parameters() const {
  std::vector<float> all(job_.layout.size());
  for (const auto& [slot, shard] : scheduler_->members().shards) {
    // A shard lost at the very end is not replaced.
    const auto mirror = scheduler_->members().mirrors.find(slot);
    const bool dead = !alive(shard.node);
    if (dead && mirror == scheduler_->members().mirrors.end()) continue;
    const NodeId node = dead ? mirror->second.node : shard.node;
    if (!alive(node)) continue;
    for (const SliceMemory& slice : sim::machine_of<Replica>(*world_.find(node)).shard().slices()) {
      std::ranges::copy(slice.current().floats(),
                        all.begin() + static_cast<std::ptrdiff_t>(slice.place().begin));
    }
  }
  return all;
}

std::string World::describe() const {
  if (scheduler_ == nullptr) {
    return std::string("the scheduler is dead, the standby ") +
           (standby_ == nullptr    ? "too"
            : !standby_->counts()  ? "does not count"
            : standby_->finished() ? "has exited: " + standby_->exit_reason().stop().text
                                   : "waits");
  }
  std::string text = "phase " + std::to_string(static_cast<int>(scheduler_->phase()));
  for (const auto& [slot, worker] : scheduler_->members().workers) {
    text += "\n  worker " + std::to_string(slot) + ' ' + worker.name +
            (worker.ready ? " ready" : " not ready") + (worker.present ? " present" : " absent") +
            (alive(worker.node) ? "" : " dead");
  }
  for (const auto& [slot, shard] : scheduler_->members().shards) {
    text += "\n  shard " + std::to_string(slot) + (shard.loaded ? " loaded" : " not loaded") +
            " at version " + std::to_string(shard.version);
  }
  for (const RoundState& round : scheduler_->rounds()) {
    text += "\n  round " + std::to_string(round.round()) +
            (round.purpose() == Purpose::train ? " train" : " evaluate");
    for (const auto& [id, piece] : round.pieces()) {
      text += "\n    piece " + std::to_string(id) + " [" + std::to_string(piece.positions.begin) + ", " +
              std::to_string(piece.positions.end) + ") of " +
              (piece.owner ? std::to_string(*piece.owner) : std::string("no worker")) +
              (piece.reported ? " reported" : "");
    }
  }
  return text;
}

bool World::run(std::size_t most) {
  const auto finished = [this] { return scheduler_ != nullptr && scheduler_->finished(); };
  for (std::size_t i = 0; i < most && !finished(); ++i) {
    if (!step()) break;
  }
  return finished();
}

}  // namespace steelyard::test
