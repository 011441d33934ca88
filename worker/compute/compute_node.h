// ComputeNode: the pseudo-node that computes for one worker of the same process. Forward and backward passes
// are slow, so they are requested and answered by messages, and the worker can handle other messages
// meanwhile.
//
//  Compute, to train     Answered by one GradientReady per slice as soon as its gradient is final, the last
//                        slices first; those that complete the gradient come with Computed. With local steps,
//                        all GradientReady come at the end and hold the distance moved
//                        (worker/compute/local_stepper.h).
//  Compute, to evaluate  Answered by Computed.
//  Compute, as a trial   Answered by Computed or, if the memory does not hold it, by TrialTooLarge.
//  Compute without parameters
//                        An announcement: the feed (worker/compute/sample_feed.h) may read the first
//                        micro-batches before the parameters arrive.
//                        The Compute with parameters may or may not follow.
//  Cut                   With hand-over: the piece ends there, if no later micro-batch has begun; CutTried
//                        reports the actual end. Not answered once the last micro-batch has begun: Computed
//                        is the answer.
//  (waiting)             While no task follows a report, this node reads its machine's load: first after 100
//                        ms, then twice a second. Each MachineReading covers the last 100 ms (load_window.h).
//  TakeStep, WriteState, ReadState
//                        If workers take the optimizer steps: worker/compute/own_state.h. In order with the
//                        pieces.
//  Abandon               Drops all earlier work for older rounds; a piece that is being computed is dropped
//                        between two micro-batches. Never answered.
//
// Pieces are computed in the order given. A gradient is the sum over the positions of its piece and depends
// only on (job, parameters, piece). Pieces with positions outside the data set are ignored and counted.
//
// If pushes are applied on arrival, no server has the gradient of a whole round. If the job clips gradients,
// this class then clips each piece's mean gradient, and all GradientReady come at the end, too.
//
// If a part of the parameters is on the engine's device, all GradientReady come together and hold values
// there (worker/compute/device_trainer.h).
//
// The engine (include/steelyard/engine.h) computes. This class does what all engines share: order of work,
// samples, slices, local steps, clipping, timing.
//
// If reading samples or computing gradients throws (both may be user code), computing ends: failure() returns
// the error, and the worker receives Interrupt.
//
// Threads: the worker's thread calls give() and the destructor, another thread computes, and the feed's
// thread reads samples.
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
#include "core/flat_pool.h"
#include "core/queue.h"
#include "protocol/messages.h"
#include "worker/compute/load_window.h"
#include "worker/compute/local_stepper.h"
#include "worker/compute/own_state.h"
#include "worker/compute/piece_requests.h"
#include "worker/compute/sample_feed.h"
#include "worker/compute/throttle.h"
#include "worker/compute/workload.h"

namespace steelyard {

class ComputeNode {
 public:
  // Receives this node's messages, in order; called on the computing thread.
  using Post = std::function<void(std::vector<ToWorker>)>;

  // `gradients`: buffers of the size of the model, for gradients; null: private memory. Throws Failure as
  // require_same() and Workload::make_engine do.
  ComputeNode(Post post, Workload workload, const Job& job, Throttle throttle = {},
              std::optional<BufferPool> gradients = {});
  ~ComputeNode();  // drops unfinished work
  ComputeNode(const ComputeNode&) = delete;
  ComputeNode& operator=(const ComputeNode&) = delete;

  void give(const ToCompute& message);

  [[nodiscard]] const std::string& description() const { return description_; }  // Engine::description()
  [[nodiscard]] std::uint64_t ignored() const { return ignored_; }               // on the worker's thread
  // Why computing ended; on the worker's thread, after Interrupt.
  [[nodiscard]] const std::optional<Failure>& failure() const { return failure_; }

 private:
  struct Task {
    Compute compute;
    std::shared_ptr<FeedRequest> request;
    std::function<void(OwnState&)> own{};  // set: this instead of a piece
  };
  using Gradient = std::shared_ptr<FloatBuffer>;

  // On the worker's thread.
  void take(const Compute& compute);
  void take(const Cut& cut);
  void take(const Abandon& abandon);
  void take(const TakeStep& step);
  void take(const WriteState& order);
  void take(const ReadState& order);
  [[nodiscard]] bool possible(const Piece& piece) const;
  [[nodiscard]] bool possible(const LocalSteps& local, Purpose purpose) const;

  // On the computing thread.
  void run();
  void work_on_tasks();
  [[nodiscard]] std::optional<Task> next_task();
  void give_up(const Failure& failure);
  void compute_trial(const Task& task);
  void compute_any(const Task& task);
  void compute(const Task& task);
  void compute_there(const Task& task);
  [[nodiscard]] bool is_there(const Task& task) const;
  void compute_locally(const Task& task);
  [[nodiscard]] std::vector<ToWorker> messages_of(const Piece& piece, const Gradient& values,
                                                  const std::vector<std::uint32_t>& slices) const;
  [[nodiscard]] double weight_of(std::uint64_t positions) const;  // of the engine's last result
  void post_rest(const Task& task, const Piece& piece, const Gradient& values, Computed computed);
  class PieceSamples;
  void begin_to_measure();
  void tell_progress(PieceId piece, std::uint64_t done);
  [[nodiscard]] MachineReading reading(Time now);
  [[nodiscard]] Computed answer(const Piece& piece, double seconds, const nn::Sums& sums);

  // Constant after construction.
  const Post post_;
  const std::string model_name_;
  const Layout layout_;
  const std::vector<Slice> slices_;
  const std::uint64_t parameters_;
  const std::uint64_t train_samples_, test_samples_;
  const std::uint64_t grain_;
  const bool local_;                   // the job has local steps
  const bool steals_work_;             // pieces can be cut while they are computed
  const double clip_norm_;             // limit for a piece's mean gradient; 0: none
  const Duration idle_reading_every_;  // as often as heartbeats

  // The worker's thread.
  std::uint64_t ignored_ = 0;

  // The computing thread.
  std::unique_ptr<Engine> engine_;              // made on the worker's thread
  const ThrottledEngine* throttled_ = nullptr;  // engine_, if it is throttled
  DeviceTrainer* const device_trainer_;         // engine_, or null
  const std::uint64_t micro_batch_;             // the engine's largest
  const std::string description_;
  BufferPool gradients_;
  const std::shared_ptr<FlatPool> gradients_there_;  // copies on the host of those that stay on a device
  FinalSlices finals_{slices_};
  LocalStepper stepper_;
  std::optional<OwnState> own_state_;  // if workers take the steps; made on the worker's thread
  LoadWindow load_;
  std::optional<double> own_share_;  // that the engine reported with its last piece
  bool reported_ = false;            // at least one piece
  Time progress_told_{};
  std::optional<Failure> failure_;  // written before Interrupt is posted

  // Shared by both threads.
  const std::unique_ptr<SampleFeed> feed_;
  PieceRequests requests_;  // the worker's thread
  BoundedQueue<Task> inbox_;
  std::thread thread_;  // last: uses all of the above
};

}  // namespace steelyard
