#include "bindings/c/task_queue.h"

#include "core/error.h"

namespace steelyard::c_api {
namespace {

constexpr Duration look = std::chrono::milliseconds(100);  // between checks whether the task is still wanted

std::chrono::steady_clock::time_point clock_time(Time time) {
  return std::chrono::steady_clock::time_point(time.since_origin);
}

class TaskQueueEngine final : public Engine, public Stepper {
 public:
  explicit TaskQueueEngine(TaskQueue& task_queue) : task_queue_(task_queue) {}

  nn::Sums train(std::span<const float> parameters, Samples& samples, std::span<float> gradient,
                 const FinalRange& on_final) override {
    return work({TaskQueue::Kind::train, parameters, gradient, {}}, samples, on_final);
  }
  nn::Sums evaluate(std::span<const float> parameters, Samples& samples) override {
    return work({TaskQueue::Kind::evaluate, parameters, {}, {}}, samples,
                [](std::uint64_t, std::uint64_t) {});
  }
  // Micro-batches of sample numbers only; the caller chooses its own micro-batches.
  [[nodiscard]] std::vector<std::uint32_t> micro_batch_sizes() const override { return {4096, 256, 16, 1}; }
  [[nodiscard]] std::uint64_t bytes() const override { return 0; }
  [[nodiscard]] std::optional<double> weight() const override { return task_queue_.weight(); }
  [[nodiscard]] WorkPlace work_place() const override { return WorkPlace::other_threads; }

  [[nodiscard]] Stepper* stepper() override { return this; }
  void take_step(std::uint64_t version, std::span<const float> values) override {
    task_queue_.run({.kind = TaskQueue::Kind::step, .parameters = values, .version = version});
  }
  void write_state(std::uint64_t version, const std::string& path) override {
    task_queue_.run({.kind = TaskQueue::Kind::write_state, .version = version, .path = path});
  }
  void read_state(std::uint64_t version, const std::string& path) override {
    task_queue_.run({.kind = TaskQueue::Kind::read_state, .version = version, .path = path});
  }

 private:
  nn::Sums work(TaskQueue::Task task, Samples& samples, const FinalRange& on_final) {
    while (const nn::MicroBatch* batch = samples.next()) {
      if (task.samples.empty()) {
        task.epoch = batch->epoch;
        task.position = batch->positions[0];
      }
      task.samples.insert(task.samples.end(), batch->labels, batch->labels + batch->count);
    }
    if (!samples.wanted()) return {};
    return task_queue_.compute(std::move(task), samples, on_final);
  }

  TaskQueue& task_queue_;
};

}  // namespace

// After each wanted() of the caller, samples.next() is called once more. It returns null, but shows the
// worker that the task makes progress.
nn::Sums TaskQueue::compute(Task task, Samples& samples, const FinalRange& on_final) {
  std::unique_lock lock(mutex_);
  task_ = std::move(task);
  samples_ = &samples;
  weight_.reset();
  begun_final_ = false;
  final_.clear();
  state_ = closed_ ? State::given_up : State::laid;
  for_caller_.notify_all();
  const auto busy = [&] { return state_ == State::laid || state_ == State::taken; };
  while (busy() || !final_.empty()) {
    if (state_ == State::laid && (closed_ || !samples.wanted())) state_ = State::given_up;
    const auto ranges = std::exchange(final_, {});
    const bool alive = std::exchange(alive_, false);
    lock.unlock();
    for (const auto& [begin, end] : ranges) on_final(begin, end);
    if (alive) (void)samples.next();
    lock.lock();
    const bool news = !final_.empty() || alive_ || !busy() || (state_ == State::laid && closed_);
    if (!news) for_engine_.wait_for(lock, look);
  }
  samples_ = nullptr;
  const bool lost =
      std::exchange(state_, State::empty) == State::given_up && !closed_ && !leaving_ && samples.wanted();
  if (lost) refuse_usage("the next task was requested before the last one was done: call steelyard_done()");
  return std::exchange(sums_, {});
}

void TaskQueue::run(Task task) {
  std::unique_lock lock(mutex_);
  task_ = std::move(task);
  state_ = closed_ ? State::given_up : State::laid;
  for_caller_.notify_all();
  for_engine_.wait(lock, [&] {
    return state_ == State::done || state_ == State::given_up || (state_ == State::laid && closed_);
  });
  const bool lost = std::exchange(state_, State::empty) == State::given_up && !closed_ && !leaving_;
  if (lost) refuse_usage("the next task was requested before the last one was done: call steelyard_done()");
}

std::optional<double> TaskQueue::weight() const {
  const std::lock_guard lock(mutex_);
  return weight_;
}

const TaskQueue::Task* TaskQueue::take(Time deadline) {
  std::unique_lock lock(mutex_);
  const auto ready = [&] { return state_ == State::laid || closed_ || woken_; };
  for_caller_.wait_until(lock, clock_time(deadline), ready);
  if (std::exchange(woken_, false) || state_ != State::laid || closed_) return nullptr;
  state_ = State::taken;
  return &task_;
}

void TaskQueue::weigh(double weight) {
  const std::lock_guard lock(mutex_);
  const bool samples = task_.kind == Kind::train || task_.kind == Kind::evaluate;
  if (state_ != State::taken || !samples) refuse_usage("no gradient and no evaluation is being computed");
  if (begun_final_) refuse_usage("part of the gradient is already final: set the weight before");
  weight_ = weight;
}

void TaskQueue::final(std::uint64_t begin, std::uint64_t end) {
  const std::lock_guard lock(mutex_);
  if (state_ != State::taken) refuse_usage("no task is being computed");
  if (begin > end || end > task_.gradient.size()) {
    refuse_usage("floats " + std::to_string(begin) + " to " + std::to_string(end) +
                 " are not within a gradient of " + std::to_string(task_.gradient.size()) +
                 ": give a range of the gradient");
  }
  begun_final_ = true;
  if (!final_.empty() && final_.back().first == end) {
    final_.back().first = begin;  // backward proceeds from the last floats to the first
  } else {
    final_.emplace_back(begin, end);
  }
  for_engine_.notify_all();
}

bool TaskQueue::wanted() {
  const std::lock_guard lock(mutex_);
  if (state_ != State::taken || closed_) return false;
  if (samples_ == nullptr) return true;
  alive_ = true;
  for_engine_.notify_all();
  return samples_->wanted();
}

void TaskQueue::finish(const nn::Sums& sums) {
  const std::lock_guard lock(mutex_);
  if (state_ != State::taken) refuse_usage("no task is being computed: call steelyard_next() first");
  sums_ = sums;
  state_ = State::done;
  for_engine_.notify_all();
}

void TaskQueue::give_up() {
  const std::lock_guard lock(mutex_);
  if (state_ != State::taken) return;
  state_ = State::given_up;
  final_.clear();
  for_engine_.notify_all();
}

void TaskQueue::wake() {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  for_caller_.notify_all();
}

void TaskQueue::leave() {
  const std::lock_guard lock(mutex_);
  leaving_ = true;
}

void TaskQueue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for_caller_.notify_all();
  for_engine_.notify_all();
}

bool TaskQueue::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

std::unique_ptr<Engine> engine_of(TaskQueue& task_queue) {
  return std::make_unique<TaskQueueEngine>(task_queue);
}

}  // namespace steelyard::c_api
