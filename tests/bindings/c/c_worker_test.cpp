// Workers through the C interface, with a scheduler and a server in processes of their own.
#include <gmock/gmock.h>
#include <steelyard/steelyard.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/support/process_run.h"

namespace steelyard::worker_test {
namespace {

using testing::Each;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pair;

struct Free {
  void operator()(steelyard_worker* worker) const { steelyard_free(worker); }
};
using Held = std::unique_ptr<steelyard_worker, Free>;

constexpr int samples = 60, batch = 20, epochs = 3;

// The loss of sample i is half the squared distance of the parameters from i, so its gradient is w - i. An
// epoch of steps at rate 1 / 4 gives parameters that depend on the order of the samples.
class CWorker : public ProcessTest {
 protected:
  void SetUp() override {
    ProcessTest::SetUp();
    if (IsSkipped()) return;
    const std::string job = write("external.toml",
                                  "[model]\nname = \"external\"\n[cluster]\nservers = 1\nheartbeat = 0.1\n"
                                  "[[worker]]\n[[worker]]\n");
    scheduler_ = std::make_unique<Process>(
        path("scheduler.log"),
        std::vector<std::string>{"scheduler", job, "--listen", endpoint(), "--run-dir", path("run")});
    server_ = std::make_unique<Process>(path("server.log"),
                                        std::vector<std::string>{"server", "--scheduler", endpoint()});
  }
  [[nodiscard]] std::string endpoint() const { return "ipc://" + path("scheduler"); }

  [[nodiscard]] nlohmann::json description(const std::string& name) const {
    return {{"scheduler", endpoint()},
            {"name", name},
            {"quiet", true},
            {"tensors", {{{"name", "w"}, {"shape", {2}}}, {{"name", "b"}, {"shape", {1}}}}},
            {"train_samples", samples},
            {"test_samples", 4},
            {"job", "[train]\nbatch = 20\nepochs = 3\noptimizer = \"sgd\"\nlr = 0.25\n"}};
  }
  static Held join(const nlohmann::json& description) {
    const std::vector<float> weights{0.5F, 0.5F, 0.5F};
    Held worker(steelyard_join(description.dump().c_str(), weights.data()));
    EXPECT_NE(worker, nullptr) << steelyard_error();
    return worker;
  }

  struct Seen {
    std::map<std::pair<std::uint64_t, std::uint64_t>, int> trained;  // epoch and sample: how often
    std::vector<float> last;
    nlohmann::json job;
    std::uint64_t evaluated = 0;
    int code = -1, main = 0;
    std::string text;
  };
  // Trains until the end. Each sample weighs `weight`.
  static Seen work(steelyard_worker* worker, double weight = 1) {
    Seen seen;
    for (steelyard_task task{}; task.kind != STEELYARD_END;) {
      EXPECT_EQ(steelyard_next(worker, 0.2, &task), 0) << steelyard_error();
      if (task.kind == STEELYARD_JOINED) seen.job = nlohmann::json::parse(steelyard_job(worker));
      if (task.kind == STEELYARD_EVALUATE) {
        seen.evaluated += task.count;
        EXPECT_EQ(steelyard_done(worker, 0, task.count), 0);
      }
      if (task.kind == STEELYARD_TRAIN) train(worker, task, weight, seen);
      if (task.kind != STEELYARD_END) continue;
      if (task.parameters != nullptr) seen.last.assign(task.parameters, task.parameters + 3);
      seen.code = task.code, seen.main = task.main, seen.text = steelyard_error();
    }
    return seen;
  }
  static void train(steelyard_worker* worker, const steelyard_task& task, double weight, Seen& seen) {
    std::vector<std::uint64_t> ahead(task.count);
    EXPECT_EQ(steelyard_samples(worker, task.epoch, task.position, task.position + task.count, ahead.data()),
              0);
    EXPECT_THAT(ahead, testing::ElementsAreArray(task.samples, task.count));
    for (int i = 0; i < 3; ++i) {
      double sum = 0;
      for (std::uint64_t s = 0; s < task.count; ++s)
        sum += task.parameters[i] - static_cast<double>(task.samples[s]);
      task.gradient[i] = static_cast<float>(weight * sum);
    }
    for (std::uint64_t s = 0; s < task.count; ++s) ++seen.trained[{task.epoch, task.samples[s]}];
    if (weight != 1) {
      EXPECT_EQ(steelyard_weigh(worker, weight * static_cast<double>(task.count)), 0);
    }
    EXPECT_EQ(steelyard_final(worker, 2, 3), 0);
    if (steelyard_wanted(worker) != 0) {
      EXPECT_EQ(steelyard_done(worker, 1.0, 0), 0);
    }
  }

  // Takes the steps on a copy of its own, and returns it at the end. `states` counts the states written.
  static std::vector<float> work_on_copy(steelyard_worker* worker, std::atomic<int>& states) {
    std::vector<float> own(3);
    std::uint64_t steps = 0;
    for (steelyard_task task{}; task.kind != STEELYARD_END;) {
      EXPECT_EQ(steelyard_next(worker, 0.2, &task), 0) << steelyard_error();
      if (task.kind == STEELYARD_STEP) {
        EXPECT_EQ(task.version, steps++);
        for (int i = 0; i < 3; ++i)
          own[i] = task.version == 0 ? task.parameters[i] : own[i] - 0.25F * task.parameters[i];
      } else if (task.kind == STEELYARD_TRAIN) {
        for (int i = 0; i < 3; ++i) {
          double sum = 0;
          for (std::uint64_t s = 0; s < task.count; ++s) sum += own[i] - static_cast<double>(task.samples[s]);
          task.gradient[i] = static_cast<float>(sum);
        }
      } else if (task.kind == STEELYARD_WRITE_STATE) {
        std::ofstream(task.path, std::ios::binary)
            .write(reinterpret_cast<const char*>(own.data()), own.size() * sizeof(float));
        ++states;
      }
      if (task.kind > STEELYARD_JOINED && task.kind != STEELYARD_END && steelyard_wanted(worker) != 0) {
        EXPECT_EQ(steelyard_done(worker, 0, 0), 0) << steelyard_error();
      }
      if (task.kind == STEELYARD_END) {
        EXPECT_EQ(task.code, 0) << steelyard_error();
      }
    }
    EXPECT_EQ(steps, epochs * samples / batch + 1) << "every version, the first and the last included";
    return own;
  }

  // w' = w - rate * (w - mean of the batch), for each batch in the order of each epoch.
  static float expected(steelyard_worker* worker) {
    double w = 0.5;
    for (int epoch = 0; epoch < epochs; ++epoch) {
      std::vector<std::uint64_t> order(samples);
      EXPECT_EQ(steelyard_samples(worker, epoch, 0, samples, order.data()), 0);
      for (int at = 0; at < samples; at += batch) {
        double mean = 0;
        for (int i = at; i < at + batch; ++i) mean += static_cast<double>(order[i]) / batch;
        w -= 0.25 * (w - mean);
      }
    }
    return static_cast<float>(w);
  }

  std::unique_ptr<Process> scheduler_, server_;
};

TEST_F(CWorker, TwoWorkersTrainTheJobOfTheFirst) {
  Held ada = join(description("ada")), bob = join(description("bob"));
  Seen of_bob;
  std::thread other([&] { of_bob = work(bob.get(), 3); });
  const Seen of_ada = work(ada.get());
  other.join();
  EXPECT_EQ(of_ada.code, 0) << of_ada.text;
  EXPECT_EQ(of_ada.text, "");
  EXPECT_EQ(of_ada.job["batch"], batch);
  EXPECT_EQ(of_ada.job["epochs"], epochs);
  EXPECT_EQ(of_ada.job["worker"], "ada");
  auto trained = of_ada.trained;
  for (const auto& [which, times] : of_bob.trained) trained[which] += times;
  EXPECT_EQ(trained.size(), samples * epochs);
  EXPECT_THAT(trained, Each(Pair(testing::_, 1))) << "each sample of an epoch once";
  EXPECT_EQ(of_ada.evaluated + of_bob.evaluated, 4 * epochs);
  EXPECT_EQ(of_ada.main + of_bob.main, 1) << "one of them keeps the results";
  EXPECT_EQ(of_ada.last, of_bob.last);
  EXPECT_EQ(of_ada.last.size(), 3);
  ends_clean(*scheduler_, 0);
  ends_clean(*server_, 0);
}

TEST_F(CWorker, TheLastParametersEqualThePlainLoop) {
  Held ada = join(description("ada")), bob = join(description("bob"));
  std::thread other([&] { work(bob.get()); });
  const Seen of_ada = work(ada.get());
  other.join();
  EXPECT_THAT(of_ada.last, Each(FloatNear(expected(ada.get()), 1e-4F)));
}

TEST_F(CWorker, WorkersTakeTheSteps) {
  nlohmann::json own = description("ada"), others = description("bob");
  own["job"] = others["job"] = "[train]\nbatch = 20\nepochs = 3\noptimizer = \"worker\"\n";
  Held ada = join(own), bob = join(others);
  std::atomic<int> states = 0;
  std::vector<float> of_bob;
  std::thread other([&] { of_bob = work_on_copy(bob.get(), states); });
  const std::vector<float> of_ada = work_on_copy(ada.get(), states);
  other.join();
  EXPECT_THAT(of_ada, Each(FloatNear(expected(ada.get()), 1e-4F)));
  EXPECT_EQ(of_ada, of_bob);
  EXPECT_GE(states, 1) << "for the last checkpoint";
  ends_clean(*scheduler_, 0);
}

TEST_F(CWorker, ALaterWorkerWithAnotherModelExits) {
  Held ada = join(description("ada"));
  ASSERT_TRUE(eventually([&] {
    steelyard_task task;
    return steelyard_next(ada.get(), 0.05, &task) == 0 && task.kind == STEELYARD_JOINED;
  }));
  nlohmann::json other = description("bob");
  other["tensors"][0]["shape"] = {3};
  const Seen seen = work(join(other).get());
  EXPECT_EQ(seen.code, 76);
  EXPECT_THAT(seen.text, HasSubstr("parameters in other places than the scheduler's"));
}

TEST_F(CWorker, TheSchedulerExplainsAnInvalidJob) {
  nlohmann::json wrong = description("ada");
  wrong["job"] = "[train]\nbatch = 20\noptimizer = \"sdg\"\n";
  Held ada = join(wrong);
  EXPECT_EQ(scheduler_->code(), 78);
  EXPECT_THAT(scheduler_->output(), HasSubstr("the job of the first worker"));
  EXPECT_THAT(scheduler_->output(), HasSubstr("sgd"));
}

TEST_F(CWorker, ALeavingWorkerGetsEndAndTheOtherContinues) {
  Held ada = join(description("ada")), bob = join(description("bob"));
  steelyard_task task{};
  while (task.kind != STEELYARD_TRAIN) ASSERT_EQ(steelyard_next(bob.get(), 0.2, &task), 0);
  std::thread other([&] { EXPECT_EQ(work(ada.get()).code, 0); });
  steelyard_leave(bob.get(), nullptr);
  while (task.kind != STEELYARD_END) ASSERT_EQ(steelyard_next(bob.get(), 0.2, &task), 0);
  EXPECT_EQ(task.code, 75);
  other.join();
  EXPECT_EQ(scheduler_->code(), 0);
  EXPECT_THAT(scheduler_->output(), HasSubstr("worker 'bob' left"));
}

TEST_F(CWorker, AStopEndsTheJobForAllAfterTheRound) {
  nlohmann::json first = description("ada");  // in each round
  first["job"] = first["job"].get<std::string>() + "[cluster]\npolicy = \"equal\"\n";
  Held ada = join(first), bob = join(description("bob"));
  Seen of_bob;
  std::thread other([&] { of_bob = work(bob.get()); });
  Seen of_ada;
  bool stopped = false;
  steelyard_task task{};
  while (task.kind != STEELYARD_END) {
    ASSERT_EQ(steelyard_next(ada.get(), 0.2, &task), 0) << steelyard_error();
    if (task.kind == STEELYARD_EVALUATE) steelyard_done(ada.get(), 0, task.count);
    if (task.kind != STEELYARD_TRAIN) continue;
    if (task.epoch == 1 && !stopped) steelyard_stop(ada.get(), 0), stopped = true;
    train(ada.get(), task, 1, of_ada);
  }
  EXPECT_EQ(task.code, 0);
  EXPECT_THAT(steelyard_error(), HasSubstr("stopped on request of worker 'ada'"));
  other.join();
  EXPECT_EQ(of_bob.code, 0) << of_bob.text;
  EXPECT_EQ(task.main + of_bob.main, 1) << "one of them keeps the results";
  ASSERT_NE(task.parameters, nullptr);
  EXPECT_EQ(std::vector<float>(task.parameters, task.parameters + 3), of_bob.last);
  const std::size_t trained = of_ada.trained.size() + of_bob.trained.size();
  EXPECT_EQ(trained % batch, 0U) << "whole rounds";
  EXPECT_LT(trained, samples * epochs);
  EXPECT_GT(trained, samples);
  EXPECT_EQ(scheduler_->code(), 0);
}

TEST_F(CWorker, AStopNowKeepsTheLastWholeRound) {
  Held ada = join(description("ada")), bob = join(description("bob"));
  steelyard_task task{};
  while (task.kind != STEELYARD_TRAIN) ASSERT_EQ(steelyard_next(bob.get(), 0.2, &task), 0);
  steelyard_leave(bob.get(), nullptr);
  Seen seen;
  std::vector<float> then;
  while (task.kind != STEELYARD_END) {
    ASSERT_EQ(steelyard_next(ada.get(), 0.2, &task), 0) << steelyard_error();
    if (task.kind == STEELYARD_EVALUATE) steelyard_done(ada.get(), 0, task.count);
    if (task.kind != STEELYARD_TRAIN || !then.empty()) continue;
    if (task.epoch == 1) {
      then.assign(task.parameters, task.parameters + 3);
      steelyard_stop(ada.get(), 1);
    } else {
      train(ada.get(), task, 1, seen);
    }
  }
  EXPECT_EQ(task.code, 0) << steelyard_error();
  EXPECT_EQ(task.main, 1);
  ASSERT_NE(task.parameters, nullptr);
  EXPECT_EQ(std::vector<float>(task.parameters, task.parameters + 3), then);
  EXPECT_EQ(scheduler_->code(), 0);
}

TEST_F(CWorker, AFailureIsReportedWithTheWorkersName) {
  Held ada = join(description("ada")), bob = join(description("bob"));
  steelyard_task task{};
  while (task.kind != STEELYARD_TRAIN) ASSERT_EQ(steelyard_next(bob.get(), 0.2, &task), 0);
  steelyard_leave(bob.get(), "ValueError: no such column");
  ada.reset();
  EXPECT_TRUE(
      eventually([&] { return scheduler_->says("worker 'bob' failed: ValueError: no such column"); }));
}

TEST_F(CWorker, EarlyOrOutOfRangeCallsAreRefused) {
  Held ada = join(description("ada"));
  std::uint64_t into[4];
  EXPECT_EQ(steelyard_job(ada.get()), nullptr);
  EXPECT_THAT(steelyard_error(), HasSubstr("this worker has not joined a job yet"));
  EXPECT_NE(steelyard_samples(ada.get(), 0, 0, 4, into), 0);
  EXPECT_NE(steelyard_samples(ada.get(), 0, 58, 62, into), 0);
  EXPECT_THAT(steelyard_error(), HasSubstr("positions 58 to 62 are not within an epoch of 60"));
  EXPECT_NE(steelyard_done(ada.get(), 0, 0), 0);
  EXPECT_NE(steelyard_weigh(ada.get(), -1), 0);
  EXPECT_EQ(steelyard_join("{", nullptr), nullptr);
}

}  // namespace
}  // namespace steelyard::worker_test
