// PieceRequests: what a compute node asks its feed for (worker/compute/sample_feed.h): pieces to compute,
// announced pieces, and the piece that probably comes next.
//
// A piece's samples are known only with its Start, and then its parameters are usually here: reading would
// delay the round. If the last two pieces had the same place in their rounds, as with a policy whose shares
// have settled, the samples at this place of the next round are requested before the Start. If the piece is
// another one, this request is cancelled; at most Feed::ahead micro-batches were read in vain.
//
// One thread, the worker's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "protocol/messages.h"
#include "worker/compute/sample_feed.h"

namespace steelyard {

class PieceRequests {
 public:
  // Further announcements have no effect: limits of announced pieces, and of unfinished pieces.
  static constexpr std::size_t most_announced = 4, most_given = 64;

  // `train_samples`: of an epoch. The feed must outlive this.
  PieceRequests(SampleFeed& feed, std::uint64_t train_samples) : feed_(feed), train_samples_(train_samples) {}

  // The piece may follow, with parameters.
  void announce(const Piece& piece);
  // The request of a piece that is computed after all given before. Its positions lie inside the data set.
  std::shared_ptr<FeedRequest> take(const Piece& piece);
  // After take() of a round's piece: requests the piece that probably comes next.
  void guess_after(const Piece& piece);

  // For given and announced pieces.
  void cut(PieceId piece, Position end);
  void abandon(Round before);

 private:
  struct Requested {
    Piece piece;
    std::shared_ptr<FeedRequest> request;
  };
  struct Given {
    PieceId piece = 0;
    Round round = 0;
    std::weak_ptr<FeedRequest> request;
  };

  std::shared_ptr<FeedRequest> request(const Piece& piece);
  void give(const Piece& piece, const std::shared_ptr<FeedRequest>& request);
  void resolve_guess(const Piece& piece);
  void forget_expired();

  SampleFeed& feed_;
  const std::uint64_t train_samples_;
  std::deque<Requested> announced_;  // in the order of their requests
  std::optional<Requested> guess_;   // requested after all of these
  std::optional<Piece> last_;        // that guess_after() got
  std::vector<Given> given_;         // what cut() and abandon() can refer to
};

}  // namespace steelyard
