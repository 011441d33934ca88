#include "worker/compute/piece_requests.h"

#include <algorithm>
#include <utility>

namespace steelyard {
namespace {

Interval shifted(const Interval& positions, std::uint64_t by) {
  return {positions.begin + by, positions.end + by};
}

// A guess has no local steps.
bool fits(const Piece& guess, const Piece& piece) {
  return guess.purpose == piece.purpose && guess.epoch == piece.epoch && guess.positions == piece.positions &&
         piece.local.steps == 0;
}

// Both have the same place in rounds of the same size, one after the other.
bool repeats(const Piece& before, const Piece& piece) {
  return before.round + 1 == piece.round && before.whole.size() == piece.whole.size() &&
         before.positions.size() == piece.positions.size() &&
         before.positions.begin - before.whole.begin == piece.positions.begin - piece.whole.begin;
}

}  // namespace

void PieceRequests::announce(const Piece& piece) {
  resolve_guess(piece);
  const auto known = [&](const Requested& it) { return it.piece == piece; };
  if (std::ranges::any_of(announced_, known)) return;
  forget_expired();
  if (announced_.size() < most_announced && given_.size() < most_given)
    announced_.push_back({piece, request(piece)});
}

// The feed keeps the order of its requests, so announcements that other work overtakes are dropped; if their
// piece is computed later, it is read again.
std::shared_ptr<FeedRequest> PieceRequests::take(const Piece& piece) {
  resolve_guess(piece);
  while (!announced_.empty()) {
    const Requested first = std::move(announced_.front());
    announced_.pop_front();
    if (first.piece == piece) return first.request;
    first.request->cancel();
  }
  return request(piece);
}

void PieceRequests::guess_after(const Piece& piece) {
  const std::optional<Piece> before = std::exchange(last_, piece);
  const bool settled = before && piece.purpose == Purpose::train && piece.local.steps == 0 &&
                       piece.whole.valid() && piece.whole.contains(piece.positions) &&
                       repeats(*before, piece);
  if (!settled || !announced_.empty() || piece.whole.end > train_samples_ ||
      piece.whole.size() > train_samples_ - piece.whole.end)
    return;
  Piece next = piece;
  next.positions = shifted(piece.positions, piece.whole.size());
  guess_ = {next, feed_.request(next)};
}

// The guess becomes the announcement of the piece that has come, or is dropped.
void PieceRequests::resolve_guess(const Piece& piece) {
  if (!guess_) return;
  const Requested guess = *std::exchange(guess_, std::nullopt);
  if (!fits(guess.piece, piece)) return guess.request->cancel();
  give(piece, guess.request);
  announced_.push_back({piece, guess.request});
}

void PieceRequests::cut(PieceId piece, Position end) {
  for (const Given& it : given_) {
    if (it.piece != piece) continue;
    if (const auto request = it.request.lock()) request->ask_end(end);
  }
}

// Marks the requests instead of the rounds: when training returns to a checkpoint, rounds restart at a lower
// number, and requests given then must not count as old.
void PieceRequests::abandon(Round before) {
  for (const Given& it : given_) {
    if (it.round >= before) continue;
    if (const auto request = it.request.lock()) request->cancel();
  }
  std::erase_if(announced_, [&](const Requested& it) { return it.piece.round < before; });
  if (guess_ && guess_->piece.round < before) std::exchange(guess_, std::nullopt)->request->cancel();
}

std::shared_ptr<FeedRequest> PieceRequests::request(const Piece& piece) {
  std::shared_ptr<FeedRequest> request = feed_.request(piece);
  give(piece, request);
  return request;
}

void PieceRequests::give(const Piece& piece, const std::shared_ptr<FeedRequest>& request) {
  forget_expired();
  given_.push_back({piece.id, piece.round, request});
}

// A request lives until its task and the feed release it.
void PieceRequests::forget_expired() {
  std::erase_if(given_, [](const Given& it) { return it.request.expired(); });
}

}  // namespace steelyard
