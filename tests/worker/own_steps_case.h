// A worker that takes the optimizer steps, driven by a test.
#pragma once

#include <tuple>
#include <utility>

#include "tests/worker/worker_case.h"

namespace steelyard::test {

using ReadyAnswer = std::pair<bool, std::uint64_t>;  // Ready: has_state and loading

class OwnStepsTest : public WorkerTest {
 protected:
  OwnStepsTest() : WorkerTest([this](const Blob& blob) { last.push_back(blob); }) {}
  void SetUp() override {
    Job job = make_job();
    job.optimizer.kind = nn::Optimizer::Kind::worker;
    wake(0);
    deliver(scheduler_node, Welcome{term, 0, job});
    reach_shards();
  }
  // The worker joined late: it has no state, and waits for an order.
  void come_late() { deliver(left, VersionExpired{0, 5}); }
  void load(std::uint64_t attempt, Version version) {
    deliver(scheduler_node, LoadState{term, attempt, version});
  }
  void give_part(std::uint64_t attempt, Version version, std::uint32_t part) {
    const auto count = static_cast<std::uint32_t>(parts());
    deliver(part % 2 == 0 ? left : right,
            WorkerState{term, attempt, version, part, count, state_part(state, part)});
  }
  void give_all_parts(std::uint64_t attempt, Version version) {
    for (std::uint32_t part = 0; part < parts(); ++part) give_part(attempt, version, part);
  }
  [[nodiscard]] std::size_t parts() const { return (state.size() - 1) / state_part_bytes + 1; }
  void order_upload(std::uint64_t attempt, Version version) {
    deliver(scheduler_node, UploadState{term, attempt, version});
  }
  void store(std::uint64_t attempt, std::uint32_t part) {
    deliver(part % 2 == 0 ? left : right, StateStored{term, attempt, part});
  }
  // The versions of the steps that were sent to the compute node.
  [[nodiscard]] std::vector<Version> steps() const {
    std::vector<Version> versions;
    for (const TakeStep& step : sent_of<TakeStep>()) versions.push_back(step.version);
    return versions;
  }
  [[nodiscard]] std::vector<Version> pulled() const {  // each from both shards
    std::vector<Version> versions;
    for (const Pull& pull : sent_of<Pull>()) versions.push_back(pull.version);
    return versions;
  }
  [[nodiscard]] std::vector<std::uint32_t> put() const {
    std::vector<std::uint32_t> numbers;
    for (const PutState& part : sent_of<PutState>()) numbers.push_back(part.part);
    return numbers;
  }
  [[nodiscard]] std::vector<ReadyAnswer> ready() const {
    std::vector<ReadyAnswer> all;
    for (const Ready& it : sent_of<Ready>()) all.emplace_back(it.has_state, it.loading);
    return all;
  }
  [[nodiscard]] StateUploaded uploaded() const {
    const auto all = sent_of<StateUploaded>();
    EXPECT_EQ(all.size(), 1U);
    return all.empty() ? StateUploaded{} : all[0];
  }

  const std::vector<std::byte> state = random_bytes(2 * state_part_bytes + 9, 1);
  std::vector<Blob> last;
};

}  // namespace steelyard::test
