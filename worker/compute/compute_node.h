// ComputeNode: the pseudo-node that computes for one worker of the same process. Forward and backward are
// slow, so they are asked for by message and answered by message, and the worker goes on speaking meanwhile.
//
//  Compute, to train     one GradientReady for each slice, the last slices first, as soon as its gradient is
//                        final; then Computed. With local steps, GradientReady comes at the end and holds how
//                        far the steps went (worker/compute/local_stepper.h).
//  Compute, to evaluate  Computed.
//  Compute without parameters
//                        An announcement: the first micro-batches are prepared while the parameters are on
//                        their way. The Compute proper follows, or does not.
//  Cut                   With hand-over: the piece ends there, if no micro-batch behind that was begun;
//                        CutTried tells where it ends. Not answered once the last micro-batch is begun:
//                        Computed is the answer.
//  Abandon               All work given before it for older rounds is given up, between two micro-batches if
//                        it has begun, and never answered.
//
// Pieces are computed in the order in which they are given. A gradient is the sum over the positions of its
// piece and a function of (job, parameters, piece) alone. Pieces that this data set does not have are
// ignored and counted.
//
// Where pushes are applied at once no server sees the gradient of a whole round: if the job clips gradients,
// each piece's mean gradient is clipped here, and then every GradientReady comes at the end too.
//
// What computes is an engine (include/steelyard/engine.h); here is what all engines share: the order of work,
// its samples, the slices, local steps, clipping, times.
//
// What goes wrong while samples are read or gradients computed (a user's code may throw) ends the computing:
// it is kept as failure(), and the worker is told to leave.
//
// Threads: give() and the destructor from the worker's; one that computes; and the feed's, which reads
// samples.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/buffer_pool.h"
#include "core/error.h"
#include "protocol/messages.h"
#include "worker/compute/feed.h"
#include "worker/compute/local_stepper.h"
#include "worker/compute/meter.h"
#include "worker/compute/throttle.h"
#include "worker/compute/workload.h"

namespace steelyard {

class ComputeNode {
 public:
  // What it has to say, in order; called on the computing thread.
  using Post = std::function<void(std::vector<ToWorker>)>;

  // Gradients lie in `gradients`. Throws Failure as require_same() does, and as making the engine does.
  ComputeNode(Post post, Workload workload, const Job& job, Throttle throttle = {},
              Memory gradients = Memory::own);
  ~ComputeNode();  // gives up what is not done
  ComputeNode(const ComputeNode&) = delete;
  ComputeNode& operator=(const ComputeNode&) = delete;

  void give(const ToCompute& message);

  [[nodiscard]] std::uint64_t ignored() const { return ignored_; }  // the worker's thread
  // Why it computes no more; the worker's thread, once it was told to leave.
  [[nodiscard]] const std::optional<Failure>& failure() const { return failure_; }

 private:
  struct Task {
    Compute compute;
    std::shared_ptr<FeedRequest> request;
  };
  using Gradient = std::shared_ptr<FloatBuffer>;

  // On the worker's thread.
  void take(const Compute& compute);
  void take(const Cut& cut);
  void take(const Abandon& abandon);
  void announce(const Compute& compute);
  [[nodiscard]] bool possible(const Piece& piece) const;
  [[nodiscard]] bool possible(const LocalSteps& local, Purpose purpose) const;
  [[nodiscard]] std::shared_ptr<FeedRequest> request_for(const Compute& compute);
  std::shared_ptr<FeedRequest> request(const Piece& piece);
  void forget_expired();

  // On the computing thread.
  void run();
  void work_on_tasks();
  void give_up(const Failure& failure);
  void compute(const Task& task);
  void compute_locally(const Task& task);
  [[nodiscard]] std::vector<ToWorker> messages_of(const Piece& piece, const Gradient& values,
                                                  const std::vector<std::uint32_t>& slices) const;
  [[nodiscard]] double weight_of(std::uint64_t positions) const;  // of what the engine computed last
  void post_rest(const Piece& piece, const Gradient& values, Computed computed);
  class PieceSamples;
  void begin_to_measure();
  void tell_progress(PieceId piece, std::uint64_t done);
  [[nodiscard]] Computed answer(const Piece& piece, double seconds, const nn::Sums& sums);

  // Constant after construction.
  const Post post_;
  const std::string model_name_;
  const Layout layout_;
  const std::vector<Slice> slices_;
  const std::uint64_t parameters_;
  const std::uint64_t train_samples_, test_samples_;
  const std::uint64_t grain_;
  const bool local_;        // the job has local steps
  const bool steals_work_;  // pieces are cut while they are computed
  const double clip_norm_;  // of a piece's mean gradient; 0: never

  // The worker's thread.
  std::deque<Task> announced_;                                       // in the order of their requests
  std::vector<std::pair<Round, std::weak_ptr<FeedRequest>>> given_;  // what an Abandon may be about
  std::uint64_t ignored_ = 0;

  // The computing thread.
  std::unique_ptr<Engine> engine_;   // made on the worker's
  const std::uint64_t micro_batch_;  // the engine's largest
  BufferPool gradients_;
  FinalSlices finals_{slices_};
  LocalStepper stepper_;
  Meter meter_;
  Reading reading_;
  Time measured_{}, progress_told_{};
  std::optional<Failure> failure_;  // written before the worker is told

  // Between them.
  Feed feed_;
  BoundedQueue<Task> inbox_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace steelyard
