#include "worker/own_steps.h"

#include <utility>

#include "core/error.h"

namespace steelyard {

void OwnSteps::arrived(Version version, const Blob& values, Outbox& out) {
  out.send<ToCompute>(compute_node, TakeStep{version, values});
  next_ = version + 1;
  if (!download_) has_state_ = true;  // otherwise these steps follow the state being loaded
}

void OwnSteps::expired(Outbox& out) {
  out.send<ToCompute>(compute_node, ReadState{});
  next_.reset();
  has_state_ = false;
  download_.reset();
  loaded_from_.reset();
}

// ---- as the worker whose state others load

OwnSteps::Change OwnSteps::handle(Time, const UploadState& order, std::span<const ShardPlace>, Outbox& out) {
  if (order.term != term_ || (order_ && order.attempt <= order_->attempt)) return Change::none;
  order_ = order;
  upload_.reset();
  // The compute node takes steps in order: it can write a version until it receives the next one.
  const bool past = !has_state_ || (next_ && *next_ > order.version + 1);
  if (past) {
    const std::string why = has_state_ ? "it has taken later steps" : "it has no state";
    out.send<ToScheduler>(scheduler_node, StateUploaded{term_, order.attempt, false, why});
    return Change::none;
  }
  written_to_ = make_file_();
  out.send<ToCompute>(compute_node, WriteState{order.attempt, order.version, written_to_});
  return Change::none;
}

OwnSteps::Change OwnSteps::handle(Time now, const StateWritten& written, std::span<const ShardPlace> shards,
                                  Outbox& out) {
  if (!order_ || written.attempt != order_->attempt) return Change::none;
  std::string trouble = written.trouble;
  if (trouble.empty() && written_to_->size() == 0) trouble = "its program has written nothing";
  if (!trouble.empty()) {
    written_to_.reset();
    out.send<ToScheduler>(scheduler_node, StateUploaded{term_, written.attempt, false, std::move(trouble)});
    return Change::none;
  }
  upload_.emplace(
      term_, order_->attempt, order_->version, written_to_->size(),
      [file = written_to_](std::uint64_t begin, std::uint64_t bytes) { return file->read(begin, bytes); });
  upload_->send(now, shards, out);
  return Change::none;
}

OwnSteps::Change OwnSteps::handle(Time now, const StateStored& stored, std::span<const ShardPlace> shards,
                                  Outbox& out) {
  if (!upload_ || stored.attempt != upload_->attempt()) return Change::none;
  upload_->stored(now, stored);
  upload_->send(now, shards, out);
  if (!upload_->complete()) return Change::none;
  out.send<ToScheduler>(scheduler_node, StateUploaded{term_, upload_->attempt(), true, {}});
  upload_.reset();
  written_to_.reset();
  return Change::none;
}

OwnSteps::Change OwnSteps::handle(Time, const StepTaken& step, std::span<const ShardPlace>, Outbox&) {
  taken_ = step.version;
  return Change::none;
}

// ---- as a worker without state

OwnSteps::Change OwnSteps::handle(Time now, const LoadState& order, std::span<const ShardPlace> shards,
                                  Outbox& out) {
  const bool first = order.attempt == 0 && order.version == 0;  // a state that the servers have
  const bool known = first ? next_ == Version{0} : order.attempt > 0 && order.attempt <= loading();
  if (order.term != term_ || has_state_ || known) return Change::none;
  if (first) {
    next_ = 0;
    return Change::loads;
  }
  loaded_from_ = make_file_();
  download_.emplace(
      term_, order.attempt, order.version,
      [file = loaded_from_](std::uint64_t begin, const Blob& bytes) { file->write(begin, bytes); });
  download_->ask(now, shards, out);
  next_ = order.version + 1;
  return Change::loads;
}

OwnSteps::Change OwnSteps::handle(Time now, const WorkerState& part, std::span<const ShardPlace> shards,
                                  Outbox& out) {
  if (!download_ || !download_->take(now, part)) return Change::none;
  if (download_->superseded()) return Change::lost;
  download_->ask(now, shards, out);
  if (!download_->complete()) return Change::none;
  out.send<ToCompute>(compute_node, ReadState{download_->version(), std::move(loaded_from_)});
  download_.reset();
  has_state_ = true;
  return Change::ready;
}

void OwnSteps::wake(Time now, std::span<const ShardPlace> shards, Outbox& out) {
  if (upload_) upload_->send(now, shards, out);
  if (download_) download_->ask(now, shards, out);
}

void OwnSteps::restart() {
  if (upload_) upload_->restart();
  if (download_) download_->restart();
}

}  // namespace steelyard
