#include "sim/training/real_training.h"

#include "core/check.h"
#include "core/queue.h"

namespace steelyard::sim {
namespace {

constexpr std::size_t answers_at_most = 1 << 16;  // slices of a model, and the report

// The compute node as a function: gives it an order and waits for the answer. Real time passes meanwhile,
// virtual time does not.
class ComputeNodeTrainer final : public Trainer {
 public:
  ComputeNodeTrainer(const Workload& workload, const Job& job)
      : answers_(answers_at_most),
        node_(
            [this](std::vector<ToWorker> messages) {
              for (ToWorker& message : messages) answers_.push(std::move(message));
            },
            workload, job) {}

  Computation compute(const Compute& order) override {
    node_.give(order);
    CHECK(node_.ignored() == 0, "the scheduler requested positions outside the data set");
    Computation done;
    for (;;) {
      const std::optional<ToWorker> answer = answers_.pop();
      CHECK(answer.has_value(), "the compute node answers every order");
      if (const auto* final = std::get_if<GradientReady>(&*answer)) done.finals.push_back(*final);
      if (std::holds_alternative<Interrupt>(*answer)) throw Failure(node_.failure().value());
      const auto* computed = std::get_if<Computed>(&*answer);
      if (computed == nullptr) continue;
      done.loss = computed->report.loss;
      done.correct = computed->report.correct;
      return done;
    }
  }

 private:
  BoundedQueue<ToWorker> answers_;
  ComputeNode node_;  // last: it posts to the queue
};

}  // namespace

void RealTraining::describe(Job& job) const {
  job.model = model_name;
  job.data = data_name;
  job.labels = labels;
  job.layout = nn::layout_for(optimizer, workload.layout);
  job.layout.slice_size = default_slice_size(job.layout.size(), job.shards);
  job.test_samples = workload.data.test->size();
  job.optimizer = optimizer;
  job.outer_rate = outer_rate;
  job.outer_momentum = outer_momentum;
  job.schedule = schedule;
  job.clip_norm = clip_norm;
  job.evaluate_every = evaluate_every;
}

void RealTraining::initialize(std::span<float> parameters, std::uint64_t seed) const {
  workload.initialize(parameters, seed);
}

std::unique_ptr<Trainer> RealTraining::trainer(const Job& job) const {
  return std::make_unique<ComputeNodeTrainer>(workload, job);
}

}  // namespace steelyard::sim
