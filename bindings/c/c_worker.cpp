// The worker functions of include/steelyard/steelyard.h: a worker that gets its gradients from the caller.
#include <pthread.h>
#include <steelyard/steelyard.h>

#include <algorithm>
#include <csignal>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "app/processes/initial_state.h"
#include "app/processes/processes.h"
#include "app/processes/worker_session.h"
#include "bindings/c/c_error.h"
#include "bindings/c/description.h"
#include "bindings/c/task_queue.h"
#include "core/error.h"
#include "core/json.h"
#include "worker/compute/feed.h"

namespace steelyard::c_api {
namespace {

// Replaces a weight of 0, since servers divide by the sum of weights.
constexpr double least_weight = 1e-30;

constexpr const char* not_joined = "this worker has not joined a job yet: wait for STEELYARD_JOINED";

// Blocks all signals in threads started during its lifetime, so that only the caller's threads receive them.
class SignalsOff {
 public:
  SignalsOff() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsOff() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsOff(const SignalsOff&) = delete;
  SignalsOff& operator=(const SignalsOff&) = delete;

 private:
  sigset_t before_{};
};

// A data set of sample numbers, for callers that read the samples themselves: the label is the number.
class SampleNumbers final : public DataSet {
 public:
  explicit SampleNumbers(std::uint32_t samples) : samples_(samples) {}

  [[nodiscard]] std::uint64_t size() const override { return samples_; }
  [[nodiscard]] nn::Shape shape() const override { return {1, 1, 1}; }
  [[nodiscard]] std::uint32_t classes() const override { return samples_; }
  void read(std::uint64_t index, float* into, std::uint32_t* labels) const override {
    *into = 0;
    *labels = static_cast<std::uint32_t>(index);
  }

 private:
  const std::uint32_t samples_;
};

DataSets numbers_of(const ModelDescription& model) {
  const auto set = [](std::uint64_t samples) {
    return std::make_shared<SampleNumbers>(static_cast<std::uint32_t>(samples));
  };
  return {.train = set(model.train_samples),
          .test = model.test_samples > 0 ? set(model.test_samples) : nullptr,
          .name = model.data};
}

// The caller defines what data_hash covers: samples, or weights that are not trained.
void require_same_data(const Job& job, const ModelDescription& model) {
  const auto found = job.data_options.find(data_mark);
  if (found == job.data_options.end() || found->second.empty() || found->second == model.data_hash) return;
  throw Failure(ExitCode::protocol,
                "this worker's samples or frozen weights differ from those of the first worker of the job: "
                "the hash is '" +
                    model.data_hash + "' instead of '" + found->second + "': use the same on all machines");
}

std::int32_t kind_of(TaskQueue::Kind kind) {
  switch (kind) {
    case TaskQueue::Kind::train:
      return STEELYARD_TRAIN;
    case TaskQueue::Kind::evaluate:
      return STEELYARD_EVALUATE;
    case TaskQueue::Kind::step:
      return STEELYARD_STEP;
    case TaskQueue::Kind::write_state:
      return STEELYARD_WRITE_STATE;
    case TaskQueue::Kind::read_state:
      break;
  }
  return STEELYARD_READ_STATE;
}

// Whether each round is one step, from the parameters that the round before it left.
bool is_synchronous(const SyncMode& mode) {
  return mode.slack == 0 && mode.backup == 0 && mode.span == SyncMode::Span::batch && !mode.is_local() &&
         mode.has_versions();
}

std::string told(const Welcome& welcome, const std::string& name) {
  const Job& job = welcome.job;
  return dump_json(Json{{"name", job.name},
                        {"seed", job.seed},
                        {"batch", job.global_batch},
                        {"epochs", job.epochs},
                        {"rounds", job.rounds},
                        {"train_samples", job.train_samples},
                        {"test_samples", job.test_samples},
                        {"grain", job.grain},
                        {"workers", job.workers},
                        {"clip_norm", job.clip_norm},
                        {"policy", job.policy},
                        {"synchronous", is_synchronous(job.sync)},
                        {"worker", name},
                        {"slot", welcome.slot}});
}

}  // namespace

// The session runs on its own thread. Results that it shares with the caller are guarded by the mutex.
class Worker {
 public:
  Worker(Description description, const float* weights)
      : description_(std::move(description)),
        data_(numbers_of(description_.model)),
        weights_(weights, weights + description_.model.layout.size()) {
    const SignalsOff signals_off;
    session_ = std::make_unique<WorkerSession>(setup());
    thread_ = std::thread([this] { run(); });
  }

  ~Worker() {
    leave({});
    task_queue_.give_up();
    thread_.join();
    task_queue_.close();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  [[nodiscard]] TaskQueue& task_queue() { return task_queue_; }
  void leave(const std::string& failure) {
    session_->leave(failure);  // first, so that an abandoned task is not pushed as a gradient
    task_queue_.leave();
  }

  void lose_state() { session_->lose_state(); }
  void request_end(EndRequest end) {
    session_->request_end(end);  // first, as in leave()
    if (end == EndRequest::now) task_queue_.leave();
  }

  void next(double seconds, steelyard_task& task) {
    task = {};
    task_queue_.give_up();
    const Time deadline = steady_now() + from_seconds(seconds);
    do {
      if (is_news()) {
        task.kind = STEELYARD_JOINED;
      } else if (const TaskQueue::Task* taken = task_queue_.take(deadline)) {
        describe(*taken, task);
      } else if (task_queue_.closed()) {
        describe_end(task);
      }
    } while (task.kind == STEELYARD_WAIT && steady_now() < deadline);
  }

  [[nodiscard]] std::string last_word() {
    const std::lock_guard lock(mutex_);
    return ending_.text;
  }

  [[nodiscard]] const char* job() {
    const std::lock_guard lock(mutex_);
    if (job_text_.empty()) throw Failure(ExitCode::usage, not_joined);
    return job_text_.c_str();
  }

  void samples(std::uint64_t epoch, Interval positions, std::uint64_t* into) {
    const std::uint64_t all = description_.model.train_samples;
    if (positions.begin > positions.end || positions.end > all) {
      throw Failure(ExitCode::usage, "positions " + std::to_string(positions.begin) + " to " +
                                         std::to_string(positions.end) + " are not within an epoch of " +
                                         std::to_string(all) + " samples: give positions of the task");
    }
    const SampleOrder order(data_, Purpose::train, seed(), epoch);
    for (Position at = positions.begin; at < positions.end; ++at) *into++ = order.sample(at);
  }

 private:
  WorkerSession::Setup setup() {
    WorkerSession::Setup setup;
    setup.options = description_.options;
    setup.hello = description_.hello;
    setup.device = name(description_.hello.kind);
    setup.workload = [this](const Welcome& welcome) { return welcomed(welcome); };
    setup.model = [this] {
      return steelyard::Worker::Options::Model{
          description_.model, [this](std::uint64_t, Interval floats) {
            return Blob::copy_of(std::span(weights_).subspan(floats.begin, floats.size()));
          }};
    };
    setup.keeps_gradients = true;
    setup.last = [this](const Blob& parameters) {
      const std::lock_guard lock(mutex_);
      last_ = parameters;
    };
    return setup;
  }

  Workload welcomed(const Welcome& welcome) {
    require_same_data(*welcome.job, description_.model);
    {
      const std::lock_guard lock(mutex_);
      job_text_ = told(welcome, description_.hello.name);
      seed_ = welcome.job->seed;
      batch_ = welcome.job->global_batch;
      rounds_per_epoch_ = (description_.model.train_samples + batch_ - 1) / batch_;
      news_ = true;
    }
    std::vector<float>().swap(weights_);  // the servers hold the parameters by now
    task_queue_.wake();
    return {.layout = description_.model.layout,
            .make_engine = [this] { return engine_of(task_queue_); },
            .data = data_,
            .grain = description_.model.grain};
  }

  void run() {
    Ending ending;
    bool keeps = false;
    Version rounds = 0;
    try {
      const ExitReason& reason = session_->run();
      ending = ending_of(reason, description_.options.scheduler);
      keeps = reason.reached() && reason.stop().keeper == session_->node();
      if (reason.reached()) rounds = reason.stop().last;
    } catch (const Failure& failure) {
      ending = {static_cast<int>(failure.code()), failure.what()};
    } catch (const std::exception& trouble) {
      ending = {static_cast<int>(ExitCode::failed), trouble.what()};
    }
    {
      const std::lock_guard lock(mutex_);
      ending_ = std::move(ending);
      keeps_ = keeps;
      rounds_ = rounds;
    }
    task_queue_.close();
  }

  bool is_news() {
    const std::lock_guard lock(mutex_);
    return std::exchange(news_, false);
  }
  [[nodiscard]] std::uint64_t seed() {
    const std::lock_guard lock(mutex_);
    if (!seed_) throw Failure(ExitCode::usage, not_joined);
    return *seed_;
  }

  static void describe(const TaskQueue::Task& from, steelyard_task& task) {
    task.kind = kind_of(from.kind);
    task.parameters = from.parameters.data();
    task.gradient = from.gradient.data();
    task.samples = from.samples.data();
    task.count = from.samples.size();
    task.epoch = from.epoch;
    task.position = from.position;
    task.version = from.version;
    task.path = from.path.empty() ? nullptr : from.path.c_str();
  }

  void describe_end(steelyard_task& task) {
    const std::lock_guard lock(mutex_);
    task.kind = STEELYARD_END;
    task.code = ending_.code;
    task.main = keeps_ ? 1 : 0;
    if (last_.empty()) return;
    task.parameters = last_.floats().data();
    task.epoch = rounds_ / rounds_per_epoch_;
    task.position = rounds_ % rounds_per_epoch_ * batch_;
  }

  const Description description_;
  const DataSets data_;
  std::vector<float> weights_;  // used by the session's thread only
  TaskQueue task_queue_;

  std::mutex mutex_;
  std::string job_text_;
  std::optional<std::uint64_t> seed_;
  bool news_ = false, keeps_ = false;
  Version rounds_ = 0;  // of the job, at its end
  std::uint64_t batch_ = 1, rounds_per_epoch_ = 1;
  Ending ending_;
  Blob last_;

  std::unique_ptr<WorkerSession> session_;
  std::thread thread_;  // hosts the session
};

}  // namespace steelyard::c_api

struct steelyard_worker : steelyard::c_api::Worker {
  using Worker::Worker;
};

using steelyard::c_api::guarded;

namespace {

constexpr double longest_wait = 1e6;  // seconds

}  // namespace

steelyard_worker* steelyard_join(const char* description, const float* weights) {
  std::unique_ptr<steelyard_worker> made;
  guarded([&] {
    made = std::make_unique<steelyard_worker>(steelyard::c_api::read_description(description), weights);
  });
  return made.release();
}

int steelyard_next(steelyard_worker* worker, double seconds, steelyard_task* task) {
  const int code = guarded([&] { worker->next(std::clamp(seconds, 0.0, longest_wait), *task); });
  if (code == 0 && task->kind == STEELYARD_END) steelyard::c_api::say(worker->last_word());
  return code;
}

const char* steelyard_job(steelyard_worker* worker) {
  const char* text = nullptr;
  guarded([&] { text = worker->job(); });
  return text;
}

int steelyard_samples(steelyard_worker* worker, uint64_t epoch, uint64_t begin, uint64_t end,
                      uint64_t* into) {
  return guarded([&] { worker->samples(epoch, {begin, end}, into); });
}

int steelyard_weigh(steelyard_worker* worker, double weight) {
  return guarded([&] {
    if (!(weight >= 0 && weight <= std::numeric_limits<float>::max()))
      throw steelyard::Failure(steelyard::ExitCode::usage, "the weight is not a finite number of at least 0");
    worker->task_queue().weigh(std::max(weight, steelyard::c_api::least_weight));
  });
}

int steelyard_final(steelyard_worker* worker, uint64_t begin, uint64_t end) {
  return guarded([&] { worker->task_queue().final(begin, end); });
}

int steelyard_wanted(steelyard_worker* worker) { return worker->task_queue().wanted() ? 1 : 0; }

int steelyard_done(steelyard_worker* worker, double loss, uint64_t correct) {
  return guarded([&] { worker->task_queue().finish({loss, correct}); });
}

void steelyard_lose_state(steelyard_worker* worker) {
  guarded([&] { worker->lose_state(); });
}

void steelyard_stop(steelyard_worker* worker, int now) {
  guarded([&] {
    worker->request_end(now != 0 ? steelyard::EndRequest::now : steelyard::EndRequest::after_round);
  });
}

void steelyard_leave(steelyard_worker* worker, const char* failure) {
  guarded([&] { worker->leave(failure == nullptr ? "" : failure); });
}

void steelyard_free(steelyard_worker* worker) { delete worker; }
