#include "worker/compute/compute_node.h"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "core/check.h"
#include "core/error.h"
#include "nn/cuda/runtime.h"
#include "nn/optimizer/clipping.h"
#include "protocol/sync_mode.h"
#include "protocol/uncounted.h"
#include "worker/compute/device_trainer.h"
#include "worker/compute/piece_steps.h"
#include "worker/compute/same_model.h"
#include "worker/compute/workload.h"

namespace steelyard {
namespace {

constexpr std::size_t most_tasks = 1024;  // given and not begun; give() then blocks
const Duration progress_every = milliseconds(200);

std::unique_ptr<Engine> throttled(std::unique_ptr<Engine> engine, Throttle throttle) {
  if (throttle.full_speed()) return engine;
  return std::make_unique<ThrottledEngine>(std::move(engine), std::move(throttle));
}

const Layout& checked_layout(const Job& job, const Workload& workload) {
  require_same(job, workload);
  return job.layout;
}

// Clips the mean of a gradient of this weight to the length `longest`.
void shorten(const Layout& layout, std::span<float> gradient, double weight, double longest) {
  const std::vector<Interval> ranges = nn::stepped_ranges(layout);
  const double squares = nn::sum_of_squares_in(ranges, gradient);
  const auto factor = static_cast<float>(nn::clipping(squares, weight, longest));
  if (factor == 1) return;
  for (const Interval& range : ranges) {
    for (float& value : gradient.subspan(range.begin, range.size())) value *= factor;
  }
}

}  // namespace

ComputeNode::ComputeNode(Post post, Workload workload, const Job& job, Throttle throttle,
                         std::optional<BufferPool> gradients)
    : post_(std::move(post)),
      model_name_(job.model),
      layout_(checked_layout(job, workload)),
      slices_(slices(layout_)),
      parameters_(job.layout.size()),
      train_samples_(workload.data.train->size()),
      test_samples_(workload.data.test ? workload.data.test->size() : 0),
      grain_(job.grain),
      local_(job.sync.is_local()),
      steals_work_(job.sync.steals_work),
      clip_norm_(job.sync.on_arrival ? job.clip_norm : 0),
      idle_reading_every_(from_seconds(std::max(0.5, job.heartbeat))),
      engine_(throttled(workload.make_engine(), std::move(throttle))),
      device_trainer_(engine_->device_trainer()),
      micro_batch_(engine_->micro_batch_sizes().front()),
      description_(engine_->description()),
      gradients_(gradients ? std::move(*gradients) : BufferPool(parameters_)),
      gradients_there_(std::make_shared<FlatPool>(gradients_.memory())),
      stepper_(job),
      feed_(make_feed(std::move(workload.data), *engine_, job)),
      requests_(*feed_, train_samples_),
      inbox_(most_tasks) {
  throttled_ = dynamic_cast<const ThrottledEngine*>(engine_.get());
  if (nn::steps_on_workers(job.optimizer)) {
    Stepper* const stepper = engine_->stepper();
    if (stepper == nullptr)
      throw Failure(
          ExitCode::configuration,
          "optimizer = \"worker\" in [train]: this worker's program does not take optimizer steps: "
          "choose another optimizer, or start the worker from a script that joins with step=\"here\"");
    own_state_.emplace(*stepper, post_);
  }
  thread_ = std::thread([this] { run(); });
}

// Closing wakes both threads; the computing thread ends once the micro-batches that are ready are used up.
ComputeNode::~ComputeNode() {
  feed_->close();
  inbox_.close();
  thread_.join();
}

// ---- the worker's thread

void ComputeNode::give(const ToCompute& message) {
  std::visit([this](const auto& said) { take(said); }, message);
}

void ComputeNode::take(const Compute& compute) {
  // Positions come from another process, parameters from this worker.
  if (!possible(compute.piece)) {
    ++ignored_;
  } else if (compute.parameters.empty()) {
    requests_.announce(compute.piece);
  } else {
    CHECK(compute.parameters.holds_floats(parameters_), "the parameters do not have the size of the model");
    inbox_.push({compute, requests_.take(compute.piece)});
    if (!compute.trial) requests_.guess_after(compute.piece);
  }
}

void ComputeNode::take(const Cut& cut) { requests_.cut(cut.piece_id, cut.end); }

void ComputeNode::take(const Abandon& abandon) { requests_.abandon(abandon.before); }

void ComputeNode::take(const TakeStep& step) {
  if (!own_state_) return void(++ignored_);
  inbox_.push({{}, nullptr, [step](OwnState& own) { own.take(step); }});
}

void ComputeNode::take(const WriteState& order) {
  if (!own_state_) return void(++ignored_);
  inbox_.push({{}, nullptr, [order](OwnState& own) { own.write(order); }});
}

void ComputeNode::take(const ReadState& order) {
  if (!own_state_) return void(++ignored_);
  inbox_.push({{}, nullptr, [order](OwnState& own) { own.read(order); }});
}

bool ComputeNode::possible(const Piece& piece) const {
  const std::uint64_t samples = piece.purpose == Purpose::train ? train_samples_ : test_samples_;
  return piece.positions.begin < piece.positions.end && piece.positions.end <= samples &&
         possible(piece.local, piece.purpose) &&
         (piece.local.steps == 0 || piece.whole.contains(piece.positions));
}

bool ComputeNode::possible(const LocalSteps& local, Purpose purpose) const {
  if (local.steps == 0) return !local_ || purpose == Purpose::evaluate;
  return local_ && purpose == Purpose::train && local.passes > 0 &&
         local.steps <= most_steps_in_round / local.passes && local.batch % grain_ == 0;
}

// ---- the computing thread

// Samples and gradients may run user code, so any exception is reported instead of ending the process.
void ComputeNode::run() {
  try {
    work_on_tasks();
  } catch (const Failure& failure) {
    give_up(failure);
  } catch (const std::bad_alloc&) {
    // Two versions of the parameters, two gradients on their way, and the engine's memory.
    const std::uint64_t bytes = 4 * parameters_ * sizeof(float) + engine_->bytes();
    give_up(
        Failure(ExitCode::failed, "model '" + model_name_ + "': not enough memory to compute it: it has " +
                                      std::to_string(parameters_) + " parameters, and a worker needs about " +
                                      std::to_string(bytes / 1'000'000 + 1) +
                                      " MB: make the model smaller, or if grain = \"share\", max_batch"));
  } catch (const std::exception& trouble) {
    give_up(Failure(ExitCode::failed,
                    "model '" + model_name_ + "': computing it threw an exception: " + trouble.what()));
  }
}

// The worker leaves on Interrupt; its host then reads failure().
void ComputeNode::give_up(const Failure& failure) {
  failure_ = failure;
  inbox_.close();
  post_({Interrupt{failure.what()}});
}

void ComputeNode::work_on_tasks() {
  while (const std::optional<Task> task = next_task()) {
    if (task->own) {
      task->own(*own_state_);
    } else {
      task->compute.trial ? compute_trial(*task) : compute_any(*task);
    }
  }
}

void ComputeNode::compute_any(const Task& task) {
  task.compute.piece.local.steps > 0 ? compute_locally(task) : compute(task);
}

// If not even one grain fits, the worker cannot train at all.
void ComputeNode::compute_trial(const Task& task) {
  const bool least = task.compute.piece.positions.size() <= grain_;
  try {
    return compute_any(task);
  } catch (const std::bad_alloc&) {
    if (least) throw;
  } catch (const nn::cuda::OutOfMemory&) {
    if (least) throw;
  }
  task.request->cancel();
  post_({TrialTooLarge{}});
}

// Returns nothing once the queue is closed.
std::optional<ComputeNode::Task> ComputeNode::next_task() {
  if (!reported_) return inbox_.pop();
  for (Duration wait = LoadWindow::shortest;; wait = idle_reading_every_) {
    const Time deadline = steady_now() + wait;
    std::optional<Task> task = inbox_.pop(deadline);
    const Time now = steady_now();
    if (task || now < deadline) return task;
    load_.look(now);
    post_({reading(now)});
  }
}

// The samples of one piece, or of its local steps one after the other, from the feed. Time starts when the
// first micro-batch is ready: waiting for the first samples does not count as computing, and they were
// usually read while the parameters arrived.
class ComputeNode::PieceSamples final : public Samples {
 public:
  PieceSamples(ComputeNode& node, const Task& task)
      : node_(node), task_(task), end_(task.compute.piece.positions.end) {}

  void allow(std::uint64_t samples) { left_ = samples; }  // next() ends after these

  const nn::MicroBatch* next() override {
    if (node_.steals_work_ && left_ > 0) cut();
    if (start_) tell();
    node_.load_.look(steady_now());
    if (left_ == 0 || abandoned_) return nullptr;
    const nn::MicroBatch* batch = node_.feed_->next(task_.request);
    abandoned_ = batch == nullptr;
    if (abandoned_) return nullptr;
    if (!start_) begin();
    left_ -= batch->count;
    return batch;
  }
  [[nodiscard]] bool at_end() const override { return left_ == 0; }
  [[nodiscard]] bool wanted() const override { return !task_.request->cancelled(); }

  // The piece was cancelled, or the engine did not read all of it, so that its sums are incomplete.
  [[nodiscard]] bool abandoned() const { return abandoned_ || left_ > 0 || !wanted(); }
  [[nodiscard]] double seconds_worked() const { return seconds(steady_now() - *start_); }
  [[nodiscard]] Position end() const { return end_; }  // of the piece, which may have been cut

 private:
  void begin() {
    node_.begin_to_measure();
    start_ = steady_now();
    if (node_.steals_work_) node_.tell_progress(task_.compute.piece.id, 0);
  }

  // Every `progress_every`; with hand-over, also after each part.
  void tell() {
    const Piece& piece = task_.compute.piece;
    const std::uint64_t done = end_ - left_ - piece.positions.begin;
    const std::uint64_t part = done * parts_told / piece.positions.size();
    const bool is_new =
        node_.steals_work_ && piece.purpose == Purpose::train && part > std::exchange(part_, part);
    if (is_new || steady_now() - node_.progress_told_ >= progress_every) node_.tell_progress(piece.id, done);
  }

  // Ends the piece at the requested position if nothing behind it has begun.
  void cut() {
    const Position asked = task_.request->take_asked_end();
    if (asked == FeedRequest::nobody_asks) return;
    if (asked < end_ && asked >= end_ - left_ && asked > task_.compute.piece.positions.begin) {
      left_ -= end_ - asked;
      end_ = asked;
      task_.request->end_at(asked);
    }
    node_.post_({CutTried{task_.compute.piece.id, asked, end_}});
  }

  ComputeNode& node_;
  const Task& task_;
  Position end_;
  std::uint64_t left_ = 0, part_ = 0;
  std::optional<Time> start_;
  bool abandoned_ = false;
};

bool ComputeNode::is_there(const Task& task) const {
  return device_trainer_ != nullptr && clip_norm_ == 0 && device_trainer_->has_here(task.compute.parameters);
}

void ComputeNode::compute_there(const Task& task) {
  Piece piece = task.compute.piece;
  PieceSamples samples(*this, task);
  samples.allow(piece.positions.size());
  nn::Sums sums;
  if (piece.purpose == Purpose::evaluate) {
    sums = device_trainer_->evaluate_there(task.compute.parameters, samples);
  } else {
    const auto on_final = [&](std::vector<std::shared_ptr<const DeviceValues>> values) {
      if (task.compute.trial || samples.abandoned()) return;
      std::vector<ToWorker> messages;
      const double weight = engine_->weight().value_or(0);
      for (std::uint32_t i = 0; i < values.size(); ++i)
        messages.emplace_back(GradientReady{piece.round, piece.id, i, Blob(std::move(values[i])), weight});
      post_(std::move(messages));
    };
    sums =
        device_trainer_->train_there(task.compute.parameters, samples, {slices_, gradients_there_, on_final});
    piece.positions.end = samples.end();
  }
  if (!samples.abandoned()) post_({answer(piece, samples.seconds_worked(), sums)});
}

void ComputeNode::compute(const Task& task) {
  if (is_there(task)) return compute_there(task);
  Piece piece = task.compute.piece;
  const std::span<const float> parameters = task.compute.parameters.floats();
  PieceSamples samples(*this, task);
  samples.allow(piece.positions.size());
  if (piece.purpose == Purpose::evaluate) {
    const nn::Sums sums = engine_->evaluate(parameters, samples);
    if (!samples.abandoned()) post_({answer(piece, samples.seconds_worked(), sums)});
    return;
  }
  const Gradient gradient = gradients_.take();
  finals_.begin();
  const FinalRange on_final = [&](std::uint64_t begin, std::uint64_t end) {
    if (clip_norm_ > 0 || task.compute.trial || samples.abandoned()) return;
    if (auto messages = messages_of(piece, gradient, finals_.take(begin, end)); !messages.empty())
      post_(std::move(messages));
  };
  const nn::Sums sums = engine_->train(parameters, samples, gradient->span(), on_final);
  if (samples.abandoned()) return;
  piece.positions.end = samples.end();
  if (clip_norm_ > 0) shorten(layout_, gradient->span(), weight_of(piece.positions.size()), clip_norm_);
  post_rest(task, piece, gradient, answer(piece, samples.seconds_worked(), sums));
}

// The time includes the steps. Sums are the average of one pass.
void ComputeNode::compute_locally(const Task& task) {
  const Piece& piece = task.compute.piece;
  PieceSteps all(*engine_, stepper_, gradients_, piece, task.compute.parameters.floats());
  PieceSamples samples(*this, task);
  nn::Sums sums;
  double weight = 0;
  bool counted = true;
  const std::uint64_t steps = steps_of(piece.local, piece.positions.size());
  for (std::uint64_t at = 0; at < piece.local.passes * steps; ++at) {
    const std::uint64_t pass = at / steps, step = at % steps;
    const std::uint64_t size = part_of(piece.positions, step, piece.local, grain_).size();
    if (size == 0) continue;
    samples.allow(size);
    const nn::Sums its = all.train(samples);
    counted = counted && its.correct != uncounted;
    sums += its;
    if (samples.abandoned()) return;
    all.step(weight_of(size), pass, step);
    weight += weight_of(size);
  }
  const Gradient& moved = all.finish();
  finals_.begin();
  sums.loss /= static_cast<double>(piece.local.passes);
  sums.correct = counted ? sums.correct / piece.local.passes : uncounted;
  Computed computed = answer(piece, samples.seconds_worked(), sums);
  computed.report.weight = weight / static_cast<double>(piece.local.passes);
  post_rest(task, piece, moved, std::move(computed));
}

void ComputeNode::begin_to_measure() {
  (void)engine_->take_share();  // resets it: excludes abandoned work
  progress_told_ = steady_now();
  load_.begin(progress_told_);
}

double ComputeNode::weight_of(std::uint64_t positions) const {
  return engine_->weight().value_or(static_cast<double>(positions));
}

std::vector<ToWorker> ComputeNode::messages_of(const Piece& piece, const Gradient& values,
                                               const std::vector<std::uint32_t>& finals) const {
  std::vector<ToWorker> messages;
  const double weight = local_ ? 0 : engine_->weight().value_or(0);
  for (const std::uint32_t index : finals) {
    const Slice& slice = slices_[index];
    const std::span<const float> its = values->span().subspan(slice.begin, slice.size());
    messages.emplace_back(GradientReady{piece.round, piece.id, index, Blob::of_floats(values, its), weight});
  }
  return messages;
}

void ComputeNode::post_rest(const Task& task, const Piece& piece, const Gradient& values, Computed computed) {
  std::vector<ToWorker> messages;
  if (!task.compute.trial) messages = messages_of(piece, values, finals_.take_rest());
  messages.emplace_back(std::move(computed));
  post_(std::move(messages));
}

void ComputeNode::tell_progress(PieceId piece, std::uint64_t done) {
  progress_told_ = steady_now();
  post_({ComputeProgress{piece, done, micro_batch_}});
}

// A throttle knows the share that it simulates. Elsewhere than on the processor, only the engine knows it.
MachineReading ComputeNode::reading(Time now) {
  const bool far = engine_->work_place() == WorkPlace::other_device;
  const DeviceReading device = engine_->read_device();
  MachineReading reading{far ? device.share.value_or(-1) : load_.latest().cpu,
                         device.memory_mb.value_or(load_.latest().memory)};
  std::optional<double> share = own_share_;
  if (throttled_ != nullptr && throttled_->share_at(now)) share = throttled_->share_at(now);
  if (share) reading.cpu = *share * (reading.cpu < 0 ? 1 : reading.cpu);
  return reading;
}

Computed ComputeNode::answer(const Piece& piece, double seconds, const nn::Sums& sums) {
  const Time now = steady_now();
  load_.look(now);
  reported_ = true;
  const Reading over_all = load_.over_all();
  const bool far = engine_->work_place() == WorkPlace::other_device;
  double cpu = far ? engine_->read_device().share.value_or(-1) : over_all.cpu;
  own_share_ = engine_->take_share();
  if (own_share_) cpu = *own_share_ * (cpu < 0 ? 1 : cpu);
  return Computed{Report{.term = 0,
                         .piece = piece,
                         .seconds = seconds,
                         .loss = sums.loss,
                         .correct = sums.correct,
                         .cpu = cpu,
                         .memory = over_all.memory,
                         .now = reading(now),
                         .weight = engine_->weight().value_or(0)}};
}

}  // namespace steelyard
