#include "scheduler/members/shutdown.h"

#include <algorithm>
#include <iterator>

namespace steelyard {
namespace {

constexpr Duration farewell = std::chrono::seconds(2);  // for all members to receive Stop

bool is_good(Outcome outcome) { return outcome == Outcome::finished || outcome == Outcome::interrupted; }

}  // namespace

bool Shutdown::request(Outcome outcome, std::string text) {
  if (std::exchange(requested_, true)) return false;
  if (phase_ < Phase::saving) stop_ = {outcome, std::move(text)};
  return true;
}

bool Shutdown::end(Outcome outcome, std::string text) {
  const bool known = phase_ >= Phase::saving;
  if (known && (is_good(outcome) || !is_good(stop_.outcome) || phase_ >= Phase::stopping)) return false;
  stop_ = {outcome, std::move(text)};
  phase_ = Phase::saving;
  return true;
}

bool Shutdown::leaves_model(Outcome outcome) { return is_good(outcome) || outcome == Outcome::worker_failed; }

bool Shutdown::left_alone(Time now, bool anybody_works, Duration timeout) {
  if (anybody_works) {
    alone_since_.reset();
  } else if (!alone_since_) {
    alone_since_ = now;
  }
  return alone_since_ && now - *alone_since_ > timeout;
}

void Shutdown::go_home_with(const Stop& last) {
  stop_.has_last = last.has_last;
  stop_.last = last.last;
  stop_.keeper = last.keeper;
}

const Stop& Shutdown::stop(Time now, const std::string& trouble, const std::string& way_back,
                           std::set<NodeId> members) {
  if (!trouble.empty() && is_good(stop_.outcome)) {
    stop_.outcome = Outcome::storage;
    stop_.text = "the last checkpoint could not be written: " + trouble;
  }
  if (stop_.outcome == Outcome::worker_failed && !way_back.empty()) stop_.text += "; " + way_back;
  phase_ = Phase::stopping;
  last_word_ = now;
  awaited_ = std::move(members);
  return stop_;
}

void Shutdown::left(NodeId node) {
  if (node.role == Role::worker || shards_told_) awaited_.erase(node);
}

std::set<NodeId> Shutdown::repeat_stop(Time now) {
  const auto is_worker = [](NodeId node) { return node.role == Role::worker; };
  const bool over = now - last_word_ > farewell;
  std::set<NodeId> workers;
  std::ranges::copy_if(awaited_, std::inserter(workers, workers.end()), is_worker);
  if (!workers.empty() && !over) return workers;
  if (workers.empty() && over) awaited_.clear();
  if (!workers.empty()) last_word_ = now;  // start of the shards' 2 s
  std::erase_if(awaited_, is_worker);
  shards_told_ = true;
  if (awaited_.empty()) phase_ = Phase::finished;
  return awaited_;
}

}  // namespace steelyard
