// A shard whose values are on a device beside one on the processor: both receive the same messages and have
// the same bits. The device is the host executor, whose streams do nothing until they are waited for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "nn/cuda/device_arithmetic.h"
#include "nn/cuda/kept_gradient.h"
#include "protocol/float_code.h"
#include "tests/server/shard/shard_case.h"

namespace steelyard::test::device_shard_test {
namespace {

using nn::cuda::KeptGradient;
using nn::cuda::Stream;
using Kind = nn::Optimizer::Kind;

constexpr std::uint64_t batch = 64;
std::vector<float> floats(const Blob& it) { return {it.floats().begin(), it.floats().end()}; }
Interval positions_of(Round round) { return {round * batch, (round + 1) * batch}; }

// The sum of made gradients of these positions, for the whole model.
std::vector<float> gradient_of(const Job& job, Interval positions) {
  std::vector<float> sum(job.layout.size());
  for (Position p = positions.begin; p < positions.end; ++p) {
    for (std::uint64_t e = 0; e < sum.size(); ++e)
      sum[e] += 0.01F * static_cast<float>(hash(p, e) % 1000) - 5;
  }
  return sum;
}

// A worker whose gradients stay on the device.
class DeviceWorker {
 public:
  DeviceWorker() { nn::cuda::use_device(0); }
  // Whether the device has done its work is left open.
  std::vector<Blob> gradient(const Job& job, Interval positions) {
    const std::vector<float> sum = gradient_of(job, positions);
    auto& memory = memory_.emplace_back(std::make_unique<Memory>(sum.size()));
    std::ranges::copy(sum, memory->pinned.data());
    stream_.copy_array(memory->device.data(), memory->pinned.data(), sum.size());
    if (!kept_) kept_.emplace(0, sum.size(), stream_);
    std::vector<Blob> slices;
    for (auto& slice : kept_->keep(memory->device.data(), steelyard::slices(job.layout), nullptr))
      slices.emplace_back(std::move(slice));
    return slices;
  }

 private:
  struct Memory {
    explicit Memory(std::uint64_t size) : pinned(size), device(size) {}
    nn::cuda::PinnedArray<float> pinned;
    nn::cuda::DeviceArray<float> device;
  };
  std::vector<std::unique_ptr<Memory>> memory_;
  Stream stream_;
  std::optional<KeptGradient> kept_;
};

// One shard on each, which get the same messages.
class BothShards {
 public:
  explicit BothShards(const Job& job)
      : host(job), device(job, 0, nn::cuda::arithmetic_on(0, Memory::shared)) {}

  void load() {
    for (ShardCase* it : {&host, &device}) {
      for (std::uint32_t number = 0; number < it->slices.size(); ++number) {
        for (std::uint32_t slot = 0; slot <= state_slots(it->job); ++slot) {
          std::vector<float> values(it->slices[number].size());
          for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = 0.001F * static_cast<float>(hash(number, slot, i) % 997);
          it->deliver(checkpointer_node,
                      StateChunk{ShardCase::term, 0, number, slot, 0, Blob::copy_of(values)});
        }
      }
    }
  }
  void open(Round round, bool clip_barrier = false, bool save = false) {
    for (ShardCase* it : {&host, &device}) it->open(round, positions_of(round), clip_barrier, save);
  }
  // `there`: the device's shard gets values on the device, which is not waited for.
  void push(Round round, Interval positions, std::uint64_t worker, bool there) {
    const std::vector<float> sum = gradient_of(host.job, positions);
    const std::vector<Blob> on_device =
        there ? worker_.gradient(host.job, positions) : std::vector<Blob>(host.slices.size());
    for (std::uint32_t i = 0; i < host.slices.size(); ++i) {
      const Slice& slice = host.slices[i];
      const Blob values = Blob::copy_of(std::span(sum).subspan(slice.begin, slice.size()));
      const Push push{ShardCase::term,
                      {.id = 1, .round = round, .positions = positions},
                      static_cast<double>(positions.size()),
                      i,
                      values};
      host.deliver(worker_node(worker), push);
      Push other = push;
      if (there) other.values = on_device[i];
      device.deliver(worker_node(worker), other);
    }
  }
  // A piece of worker 2, on the host, is lost and computed again in two parts by worker 1, on the device.
  void round_with_a_death(Round round) {
    const Interval all = positions_of(round);
    open(round);
    push(round, {all.begin, all.begin + 16}, 1, true);
    push(round, {all.begin + 40, all.end}, 3, false);
    for (ShardCase* it : {&host, &device}) it->deliver(scheduler_node, Disconnected{worker_node(2)});
    push(round, {all.begin, all.begin + 16}, 1, true);  // again: counted once
    push(round, {all.begin + 16, all.begin + 32}, 1, true);
    push(round, {all.begin + 16, all.begin + 40}, 2, false);  // late: overlaps
    push(round, {all.begin + 32, all.begin + 40}, 1, true);
  }

  ShardCase host, device;

 private:
  DeviceWorker worker_;
};

// A tensor with decay, which lars and lamb update as a whole, one without, and both other rules.
Job job_of(Kind kind, std::uint64_t slice_size = 37) {
  Job job;
  append(job.layout, "w", {13, 11});
  append(job.layout, "b", {29}, Rule::step, 0);
  append(job.layout, "mean", {5}, Rule::mean);
  append(job.layout, "ema", {7}, Rule::ema);
  job.layout.slice_size = slice_size;
  job.train_samples = 4096;
  job.optimizer = {.kind = kind, .weight_decay = 1e-3};
  job.layout = nn::layout_for(job.optimizer, job.layout);
  job.schedule.base = 0.05;
  return job;
}

class DeviceShard : public testing::Test {
 protected:
  void SetUp() override {
    if (cpu_level() == Level::baseline)
      GTEST_SKIP() << "this processor rounds twice where a device rounds once";
  }
};
class DeviceShards : public DeviceShard, public testing::WithParamInterface<Kind> {};

TEST_P(DeviceShards, HaveTheBitsOfOneOnTheProcessor) {
  for (const std::uint64_t slice_size : {37, 1000}) {
    BothShards both(job_of(GetParam(), slice_size));
    both.load();
    for (Round round = 0; round < 6; ++round) {
      both.round_with_a_death(round);
      ASSERT_EQ(both.host.shard.version(), round + 1);
      ASSERT_EQ(both.device.shard.version(), round + 1);
      ASSERT_EQ(both.device.parameters(), both.host.parameters()) << "after round " << round;
    }
    EXPECT_EQ(both.device.shard.counts().added, both.host.shard.counts().added);
    EXPECT_EQ(both.device.shard.counts().repeated, both.host.shard.counts().repeated);
    for (std::size_t i = 0; i < both.host.shard.slices().size(); ++i) {
      const SliceMemory &host = both.host.shard.slices()[i], &device = both.device.shard.slices()[i];
      for (std::uint32_t slot = 0; slot < host.slots(); ++slot)
        EXPECT_EQ(floats(device.copy_of(slot)), floats(host.copy_of(slot))) << i << ", slot " << slot;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, DeviceShards,
                         testing::Values(Kind::sgd, Kind::momentum, Kind::nesterov, Kind::adam, Kind::adamw,
                                         Kind::lars, Kind::lamb, Kind::worker),
                         [](const auto& of) { return "kind" + std::to_string(static_cast<int>(of.param)); });

// Squares for the norm of the whole gradient are computed before the step.
TEST_F(DeviceShard, ReportsTheNormsOfGradients) {
  BothShards both(job_of(Kind::adam));
  both.load();
  both.open(0, true);
  both.push(0, {0, 30}, 1, true);
  both.push(0, {30, 64}, 2, false);
  const auto host = both.host.sent<Covered>(), device = both.device.sent<Covered>();
  ASSERT_EQ(host.size(), 1U);
  ASSERT_EQ(device.size(), 1U);
  EXPECT_EQ(device[0].squares, host[0].squares);
  for (ShardCase* it : {&both.host, &both.device})
    it->deliver(scheduler_node, Commit{ShardCase::term, 0, 0.5});
  EXPECT_EQ(both.device.parameters(), both.host.parameters());
}

// Pieces that arrive in another order have the same sum, wherever they are.
TEST_F(DeviceShard, AddsInTheOrderOfPositionsIfTheJobRequiresIt) {
  Job job = job_of(Kind::momentum);
  job.sum_order = SumOrder::positions;
  BothShards both(job), turned(job);
  for (BothShards* it : {&both, &turned}) {
    it->load();
    it->open(0);
  }
  both.push(0, {0, 20}, 1, true);
  both.push(0, {20, 30}, 2, false);
  both.push(0, {30, 64}, 1, true);
  turned.push(0, {30, 64}, 1, false);
  turned.push(0, {20, 30}, 2, true);
  turned.push(0, {0, 20}, 1, true);
  EXPECT_EQ(both.device.parameters(), both.host.parameters());
  EXPECT_EQ(turned.device.parameters(), both.host.parameters());
}

TEST_F(DeviceShard, RefusesPushesThatAreNotFiniteOrTooLong) {
  Job job = job_of(Kind::sgd, 1000);
  job.gradient_limit = 10;
  BothShards both(job);
  both.load();
  both.open(0);
  std::vector<float> values(both.host.slices[0].size(), 1);
  const auto push = [&](Interval positions, float value) {
    values[3] = value;
    const Push made{ShardCase::term,
                    {.id = 1, .round = 0, .positions = positions},
                    static_cast<double>(positions.size()),
                    0,
                    Blob::copy_of(values)};
    for (ShardCase* it : {&both.host, &both.device}) it->deliver(worker_node(1), made);
  };
  for (Position at = 0; at < 10; ++at) push({at, at + 1}, 1);
  push({10, 11}, NAN);
  push({11, 12}, 1e6F);
  EXPECT_EQ(both.host.shard.counts().refused, 2U);
  EXPECT_EQ(both.device.shard.counts().refused, 2U);
  EXPECT_EQ(both.device.shard.counts().added, both.host.shard.counts().added);
}

// The device itself finds out whether a gradient there is finite.
TEST_F(DeviceShard, RefusesAGradientOnTheDeviceThatIsNotFinite) {
  const Job job = job_of(Kind::sgd);
  Stream stream;
  std::vector<float> sum = gradient_of(job, {0, 1});
  sum[40] = INFINITY;  // in the second slice
  nn::cuda::PinnedArray<float> pinned(sum.size());
  nn::cuda::DeviceArray<float> there(sum.size());
  std::ranges::copy(sum, pinned.data());
  stream.copy_array(there.data(), pinned.data(), sum.size());
  KeptGradient kept(0, sum.size(), stream);
  const auto slices = kept.keep(there.data(), steelyard::slices(job.layout), nullptr);
  BothShards both(job);
  both.load();
  both.open(0);
  for (std::uint32_t i = 0; i < slices.size(); ++i) {
    both.device.deliver(
        worker_node(1),
        Push{ShardCase::term, {.id = 1, .round = 0, .positions = {0, 1}}, 1, i, Blob(slices[i])});
  }
  EXPECT_EQ(both.device.shard.counts().refused, 1U);
  EXPECT_EQ(both.device.shard.counts().added, slices.size() - 1);
}

// A checkpoint is fetched while the next rounds already overwrite the memory of earlier versions.
TEST_F(DeviceShard, KeepsVersionsForCheckpoints) {
  BothShards both(job_of(Kind::adam));
  both.load();
  both.open(0, false, true);
  both.push(0, positions_of(0), 1, true);
  for (Round round = 1; round < 4; ++round) {
    both.open(round);
    both.push(round, positions_of(round), 1, true);
  }
  std::vector<std::vector<State>> saved;
  for (ShardCase* it : {&both.host, &both.device}) {
    it->deliver(checkpointer_node, it->fetch(1));
    saved.push_back(it->sent<State>());
  }
  ASSERT_EQ(saved[0].size(), both.host.slices.size() * 3);
  ASSERT_EQ(saved[1].size(), saved[0].size());
  for (std::size_t i = 0; i < saved[0].size(); ++i) {
    EXPECT_EQ(saved[1][i].version, 1U);
    EXPECT_EQ(floats(saved[1][i].values), floats(saved[0][i].values)) << i;
  }
}

// Workers on processors and on other hosts get what a shard on a processor would send.
TEST_F(DeviceShard, AnswersPullsWithVersionsOnTheDevice) {
  BothShards both(job_of(Kind::momentum));
  both.load();
  both.round_with_a_death(0);
  std::vector<Parameters> answers[2];
  for (int i = 0; i < 2; ++i) {
    ShardCase& it = i == 0 ? both.host : both.device;
    it.deliver(worker_node(5), Pull{ShardCase::term, 1});
    answers[i] = it.sent<Parameters>();
  }
  ASSERT_FALSE(answers[0].empty());
  ASSERT_EQ(answers[1].size(), answers[0].size());
  for (std::size_t i = 0; i < answers[0].size(); ++i) {
    EXPECT_EQ(answers[0][i].values.device(), nullptr);
    EXPECT_NE(answers[1][i].values.device(), nullptr) << "a worker on this device needs no copy";
    EXPECT_EQ(floats(answers[1][i].values), floats(answers[0][i].values));
  }
}

// A device that copies to the memory of a version makes the system allocate all of it.
TEST_F(DeviceShard, CopiesOnTheHostLieInMemoryOfItsPartOfTheModel) {
  Job job = job_of(Kind::sgd);
  job.shards = 3;
  ShardCase middle(job, 1, nn::cuda::arithmetic_on(0, Memory::shared));
  ASSERT_GT(middle.shard.slices().size(), 1U);
  const std::uint64_t own = middle.shard.slices().back().place().end - middle.shard.slices()[0].place().begin;
  ASSERT_LT(own, job.layout.size());
  for (std::uint32_t number = 0; number < middle.slices.size(); ++number) {
    const Blob values = ShardCase::constant(middle.slices[number].size(), static_cast<float>(number));
    middle.deliver(checkpointer_node, StateChunk{ShardCase::term, 0, number, 0, 0, values});
  }
  middle.deliver(worker_node(5), Pull{ShardCase::term, 0});
  const auto answers = middle.sent<Parameters>();
  ASSERT_EQ(answers.size(), middle.shard.slices().size());
  const Segment* const memory = answers[0].values.segment();
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(memory->size(), own * sizeof(float));
  for (const Parameters& answer : answers) {
    EXPECT_EQ(answer.values.segment(), memory);
    EXPECT_THAT(floats(answer.values), testing::Each(static_cast<float>(answer.slice)));
  }
}

TEST_F(DeviceShard, CodesPullsAndPushes) {
  Job job = job_of(Kind::momentum);
  job.pull_encoding = FloatCode::int8;
  job.push_encoding = FloatCode::bf16;
  BothShards both(job);
  both.load();
  for (Round round = 0; round < 3; ++round) {
    both.open(round);
    for (std::uint32_t i = 0; i < both.host.slices.size(); ++i) {
      const Slice& slice = both.host.slices[i];
      const std::vector<float> sum = gradient_of(job, positions_of(round));
      const Blob whole = Blob::copy_of(std::span(sum).subspan(slice.begin, slice.size()));
      const FloatCode code = code_of(job.push_encoding, job, slice);
      const Blob values = code == FloatCode::float32 ? whole : encode(code, whole.floats());
      for (ShardCase* it : {&both.host, &both.device}) {
        it->deliver(worker_node(1), Push{ShardCase::term,
                                         {.id = 1, .round = round, .positions = positions_of(round)},
                                         batch,
                                         i,
                                         values});
      }
    }
    ASSERT_EQ(both.device.shard.version(), round + 1);
    ASSERT_EQ(both.device.parameters(), both.host.parameters());
  }
  for (std::size_t i = 0; i < both.host.shard.slices().size(); ++i) {
    const SliceMemory &host = both.host.shard.slices()[i], &device = both.device.shard.slices()[i];
    EXPECT_EQ(floats(device.copy_of(device.slots() - 1)), floats(host.copy_of(host.slots() - 1)));
  }
}

// What a mirror on a processor receives makes a shard with the same bits.
TEST_F(DeviceShard, FillsAMirrorOnAProcessor) {
  BothShards both(job_of(Kind::adam));
  both.load();
  both.round_with_a_death(0);
  const auto host = both.host.shard.snapshot(), device = both.device.shard.snapshot();
  ASSERT_TRUE(host && device);
  ASSERT_EQ(device->size(), host->size());
  const auto chunk = [](const Envelope& it) {
    return std::get_if<StateChunk>(&std::get<ToShard>(it.message));
  };
  for (std::size_t i = 0; i < host->size(); ++i) {
    ASSERT_EQ(chunk((*device)[i]) != nullptr, chunk((*host)[i]) != nullptr);
    if (chunk((*host)[i]) == nullptr) continue;
    EXPECT_EQ(floats(chunk((*device)[i])->values), floats(chunk((*host)[i])->values)) << i;
  }
}

// Modes that compute some values on the host: compensation, damping, averages of hubs.
TEST_F(DeviceShard, HasTheBitsOfOneOnTheProcessorInOtherModes) {
  for (const char* const mode :
       {"asp", "dc-asgd:0.1", "dc-asgd:adaptive:0.1", "dynsgd", "nsoft:2", "local:2"}) {
    SCOPED_TRACE(mode);
    Job job = job_of(Kind::momentum);
    job.sync = parse_sync(mode);
    job.workers = 2;
    job.global_batch = batch;
    BothShards both(job);
    both.load();
    for (Round round = 0; round < 3; ++round) {
      both.open(round);
      for (ShardCase* it : {&both.host, &both.device}) {
        for (const std::uint64_t worker : {1, 2})
          it->deliver(worker_node(worker), Pull{ShardCase::term, round});
      }
      const Interval all = positions_of(round);
      for (Position at = all.begin; at < all.end; at += 16)
        both.push(round, {at, at + 16}, 1 + at % 32 / 16, at % 48 == 0);
      ASSERT_EQ(both.device.shard.version(), both.host.shard.version());
      ASSERT_EQ(both.device.parameters(), both.host.parameters()) << "after round " << round;
    }
    EXPECT_EQ(both.host.shard.version(), 3U);
  }
}

}  // namespace
}  // namespace steelyard::test::device_shard_test
