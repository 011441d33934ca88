// How a compute node divides the answer to one piece into posts, each of which wakes the worker's thread.
#include <gtest/gtest.h>

#include <numeric>

#include "core/queue.h"
#include "tests/worker/made_data.h"
#include "worker/compute/compute_node.h"
#include "worker/data/sets/synthetic.h"

namespace steelyard::node_posts_test {
namespace {

DataSets made_data() {
  const auto data = std::make_shared<const SyntheticDataSet>(
      SyntheticOptions{.samples = 100, .classes = 4, .shape = {8, 8, 1}});
  return {data, data};
}

// The number of messages of each post, up to the one with the answer.
std::vector<std::size_t> posts_of_one_piece(const nn::Model& model, const Job& job) {
  BoundedQueue<std::pair<std::size_t, bool>> posts(1000);
  const auto parameters = std::make_shared<FloatBuffer>(model.parameters());
  model.initialize(parameters->span(), 3);
  ComputeNode node(
      [&](const std::vector<ToWorker>& messages) {
        if (std::holds_alternative<ComputeProgress>(messages.front())) return;  // of longer computations
        posts.push({messages.size(), std::holds_alternative<Computed>(messages.back())});
      },
      model_workload(model, made_data()), job);
  node.give(Compute{{8, 3, Purpose::train, 2, {0, 10}}, Blob::of_floats(parameters, parameters->span())});
  std::vector<std::size_t> sizes;
  for (bool answered = false; !answered;) {
    const auto [size, last] = posts.pop().value();
    sizes.push_back(size);
    answered = last;
  }
  return sizes;
}

Job job_of(const nn::Model& model, std::uint64_t slice) {
  Job job;
  job.layout = model.layout();
  job.layout.slice_size = slice;
  job.train_samples = job.test_samples = 100;
  return job;
}

TEST(NodePosts, TheLastSmallSlicesArePostedWithTheAnswer) {
  nn::Model model({8, 8, 1}, 4);
  model.linear("first", 20).relu().linear("out", 4);
  const Job job = job_of(model, 50);
  const std::vector<std::size_t> sizes = posts_of_one_piece(model, job);
  EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}), slices(job.layout).size() + 1);
  EXPECT_GT(sizes.back(), 1U);
  EXPECT_GT(sizes.size(), 1U) << "slices of the last layer do not wait for the first one";
}

TEST(NodePosts, ALargeGradientDoesNotWaitForTheAnswer) {
  nn::Model model({8, 8, 1}, 4);
  model.linear("large", 1500).relu().linear("out", 4);
  const Job job = job_of(model, 1000);
  const std::vector<std::size_t> sizes = posts_of_one_piece(model, job);
  EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}), slices(job.layout).size() + 1);
  EXPECT_EQ(sizes.back(), 1U);
}

}  // namespace
}  // namespace steelyard::node_posts_test
