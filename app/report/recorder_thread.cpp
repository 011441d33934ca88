#include "app/report/recorder_thread.h"

#include <limits>
#include <utility>

namespace steelyard {

RecorderThread::RecorderThread(Recorder& recorder, std::size_t most_waiting)
    : recorder_(recorder),
      most_waiting_(most_waiting),
      told_(std::numeric_limits<std::size_t>::max()),
      seen_(1),
      thread_([this] { record(); }) {}

RecorderThread::~RecorderThread() { finish(); }

void RecorderThread::tell(ToRecorder message, Time now) {
  const auto* round = std::get_if<RoundRecord>(&message);
  const bool limited = round != nullptr && round->purpose == Purpose::train;
  const std::size_t weight = limited ? 1 + round->parts.size() : 0;
  if (limited && waiting_ + weight > most_waiting_) {
    ++left_out_;
    return;
  }
  const bool note = std::holds_alternative<Note>(message);
  if (note && notes_waiting_ >= most_notes) return;
  notes_waiting_ += note ? 1 : 0;
  waiting_ += weight;
  ++told_so_far_;
  told_.try_push(Told{std::move(message), now, weight});
}

std::optional<std::vector<std::byte>> RecorderThread::seen_by(Look look) {
  std::optional<Seen> seen;
  if (looking_ && seen_.size() > 0) seen = seen_.pop();
  if (seen) looking_ = false;
  if (seen && seen->told == told_so_far_) return std::move(seen->bytes);
  if (!std::exchange(looking_, true)) told_.try_push(Looking{std::move(look), told_so_far_});
  return std::nullopt;
}

void RecorderThread::record() {
  while (const auto next = told_.pop()) {
    if (const auto* looking = std::get_if<Looking>(&*next)) {
      seen_.try_push({looking->look(), looking->told});
      continue;
    }
    const Told& told = std::get<Told>(*next);
    recorder_.handle(told.message, told.now);
    waiting_ -= told.weight;
    notes_waiting_ -= std::holds_alternative<Note>(told.message) ? 1 : 0;
  }
  recorder_.left_out(left_out_);
}

void RecorderThread::finish() {
  told_.close();
  if (thread_.joinable()) thread_.join();
}

}  // namespace steelyard
