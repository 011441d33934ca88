// Training on samples that the device keeps: the bits of training on samples that are copied to it.
#include "worker/compute/kept_on_device.h"

#include <gmock/gmock.h>

#include <vector>

#include "nn/cuda/host/executor.h"
#include "nn/cuda_devices.h"
#include "tests/worker/kept_pictures.h"
#include "tests/worker/made_data.h"
#include "tests/worker/mail.h"
#include "worker/compute/engines.h"
#include "worker/compute/kept_feed.h"
#include "worker/compute/throttle.h"
#include "worker/compute/workload.h"
#include "worker/data/normalization.h"

namespace steelyard::kept_on_device_test {
namespace {

using testing::HasSubstr;
constexpr Device host_cuda{Device::Type::host_cuda};

nn::Model model_for_pictures() {
  return nn::Model({6, 6, 3}, 4)
      .conv2d("c", {.channels = 4, .kernel = 3})
      .batch_norm("n")
      .relu()
      .linear("o", 4);
}

class Kept : public testing::Test {
 protected:
  void SetUp() override {
    if (!nn::built_with_host_cuda()) GTEST_SKIP() << "this build has no host executor";
  }
};

// What the device shows of a sample.
std::vector<float> shown(const KeptOnDevice& kept, const nn::KeptSample& sample, std::size_t floats) {
  nn::cuda::Stream stream;
  nn::cuda::PinnedArray<nn::KeptSample> list(1);
  *list.data() = sample;
  const nn::cuda::DeviceArray<nn::KeptSample> there(1);
  const nn::cuda::DeviceArray<float> input(floats);
  nn::cuda::PinnedArray<float> copy(floats);
  stream.copy_array(there.data(), list.data(), 1);
  kept.samples->show(stream, there.data(), 1, 1, input.data());
  stream.copy_array(copy.data(), input.data(), floats);
  stream.synchronize();
  return {copy.data(), copy.data() + floats};
}

TEST_F(Kept, TheDeviceShowsWhatTheHostReads) {
  DataSets sets = byte_pictures(70, 30);
  std::vector<float> border(108);  // its first three numbers: those of a byte
  std::uint32_t ignored = 0;
  sets.train->read(0, border.data(), &ignored);
  for (auto* set : {&sets.train, &sets.test})
    *set = std::make_shared<const PaddedDataSet>(*set, 9, 8, std::vector(border.begin(), border.begin() + 3));
  const KeptOnDevice kept = keep_on_device(sets, 0);
  ASSERT_NE(kept.data, nullptr) << kept.note;
  EXPECT_EQ(kept.note, "keeps all samples on the device, in 1 MB");
  EXPECT_EQ(kept.samples->bytes(), 100U * 9 * 8 * 3);
  const std::size_t floats = sets.train->shape().size();
  for (const Purpose purpose : {Purpose::train, Purpose::evaluate}) {
    const DataSet& set = purpose == Purpose::train ? *sets.train : *sets.test;
    for (std::uint64_t i = 0; i < set.size(); ++i) {
      const Window window = window_of(sets.augmentation, 1, 2, i);
      const nn::KeptSample sample = kept.data->sample(purpose, i, window);
      std::vector<float> whole(floats), expected(floats);
      std::uint32_t label = 9, its = 9;
      set.read(i, whole.data(), &label);
      take_window(window, set.shape(), sets.augmentation.fill, whole.data(), expected.data());
      ASSERT_EQ(shown(kept, sample, floats), expected);
      kept.data->labels(sample, &its);
      EXPECT_EQ(its, label);
    }
  }
}

TEST_F(Kept, TargetsAreKeptOnTheHost) {
  const auto data = std::make_shared<TargetData>(60);
  const KeptOnDevice kept = keep_on_device({data, data}, 0);
  ASSERT_NE(kept.data, nullptr) << kept.note;
  std::vector<float> targets(2);
  kept.data->targets(kept.data->sample(Purpose::evaluate, 7, {}), targets.data());
  EXPECT_EQ(targets, (std::vector<float>{7, -7}));
}

TEST_F(Kept, WithoutATestSetTheOtherIsKept) {
  EXPECT_NE(keep_on_device({std::make_shared<BytePictures>(5), nullptr}, 0).data, nullptr);
}

// ---- sets that are not kept

std::string why_not(const DataSets& data, const KeepLimits& limits = {}, std::uint64_t reserved = 0) {
  const KeptOnDevice kept = keep_on_device(data, 0, reserved, limits);
  EXPECT_EQ(kept.data, nullptr);
  EXPECT_EQ(kept.samples, nullptr);
  return kept.note;
}

TEST_F(Kept, LargeSetsAreNot) {
  const DataSets data = byte_pictures(100, 10);
  const std::uint64_t bytes = 110 * (108 + 4);
  EXPECT_NE(keep_on_device(data, 0, 0, {.bytes = bytes}).data, nullptr);
  EXPECT_THAT(why_not(data, {.bytes = bytes - 1}),
              HasSubstr("copies samples from the host: they would take more than 1 MB"));
}

TEST_F(Kept, OnlyASixteenthOfTheFreeMemoryIsTaken) {
  const DataSets data = byte_pictures(100, 10);
  const std::uint64_t bytes = 110 * (108 + 4), used = nn::cuda::host::used_memory();
  const std::uint64_t reserved = 5000;
  nn::cuda::host::limit_memory(used + 16 * bytes + reserved);
  EXPECT_NE(keep_on_device(data, 0, reserved).data, nullptr);
  EXPECT_THAT(why_not(data, {}, reserved + 16),
              HasSubstr("they would take 1 MB as bytes, and the device has 1 MB for them"));
  nn::cuda::host::limit_memory(0);
}

TEST_F(Kept, SetsOfManyDifferentNumbersAreNot) {
  const auto data = std::make_shared<NumberedData>(257);
  EXPECT_THAT(why_not({data, data}), HasSubstr("a channel has more than 256 different numbers"));
  const auto fewer = std::make_shared<NumberedData>(256);
  EXPECT_NE(keep_on_device({fewer, fewer}, 0).data, nullptr);
}

TEST_F(Kept, SetsThatAreReadSlowlyAreNot) {
  Time now{};
  const auto clock = [&] { return now = now + std::chrono::seconds(1); };
  const DataSets data = byte_pictures(64 * 4, 1);
  EXPECT_NE(keep_on_device(data, 0, 0, {.time = std::chrono::seconds(6), .clock = clock}).data, nullptr);
  EXPECT_THAT(why_not(data, {.time = std::chrono::seconds(3), .clock = clock}),
              HasSubstr("reading them all takes longer than 3 seconds"));
}

// The feed reports it once it comes to the sample, which may never be used.
TEST_F(Kept, SetsWithDamagedSamplesAreNot) {
  const auto good = std::make_shared<NumberedData>(50);
  for (const bool throws : {false, true}) {
    const auto spoilt = std::make_shared<SpoiltData>(50, 33, throws);
    EXPECT_THAT(why_not({good, spoilt}), HasSubstr("copies samples from the host: sample 33"));
  }
}

TEST_F(Kept, HugeWindowsAreNot) {
  DataSets data = byte_pictures(5, 5);
  data.augmentation.crop = 40'000;
  EXPECT_THAT(why_not(data), HasSubstr("windows are too large"));
}

// ---- whole pieces

struct Answers {
  std::vector<std::vector<float>> gradients;
  std::vector<Report> reports;
};

Job job_of(const nn::Model& model, const std::string& sync) {
  Job job;
  job.layout = model.layout();
  job.layout.slice_size = 50;
  job.grain = model.grain();
  job.train_samples = 200;
  job.sync = parse_sync(sync);
  job.schedule.base = 0.1;
  return job;
}

// Two pieces and an evaluation.
Answers answers(const Workload& workload, const Job& job) {
  Mail mail;
  ComputeNode node(post_to(mail), workload, job);
  Answers all;
  auto parameters = std::make_shared<FloatBuffer>(job.layout.size());
  workload.initialize(parameters->span(), 1);
  const std::vector<Slice> slices = steelyard::slices(job.layout);
  LocalSteps local;
  if (job.sync.is_local()) local = {3, 2};
  for (const Piece& piece :
       {Piece{.id = 1, .epoch = 1, .positions = {0, 96}, .whole = {0, 200}, .local = local},
        Piece{.id = 2, .epoch = 2, .positions = {64, 200}, .whole = {0, 200}, .local = local},
        Piece{.id = 3, .purpose = Purpose::evaluate, .positions = {10, 50}}}) {
    node.give(Compute{piece, Blob::of_floats(parameters, parameters->span())});
    all.gradients.emplace_back(job.layout.size());
    for (;;) {
      const ToWorker message = mail.pop().value();
      if (const auto* ready = std::get_if<GradientReady>(&message)) {
        std::ranges::copy(
            ready->values.floats(),
            all.gradients.back().begin() + static_cast<std::ptrdiff_t>(slices[ready->slice].begin));
      }
      if (const auto* computed = std::get_if<Computed>(&message)) {
        all.reports.push_back(computed->report);
        break;
      }
    }
  }
  return all;
}

TEST_F(Kept, PiecesHaveTheBitsOfCopiedSamples) {
  const nn::Model model = model_for_pictures();
  const DataSets data = byte_pictures(200, 50);
  for (const Precision precision : {Precision::float32, Precision::bf16}) {
    for (const char* sync : {"bsp", "local:3"}) {
      Workload kept = model_workload(model, data, {.device = host_cuda, .precision = precision}),
               copied = kept;
      copied.make_engine = [=] { return make_cuda_engine(model, host_cuda, precision); };
      const Job job = job_of(model, sync);
      const Answers here = answers(copied, job), there = answers(kept, job);
      EXPECT_EQ(there.gradients, here.gradients) << sync;
      for (std::size_t i = 0; i < here.reports.size(); ++i) {
        EXPECT_EQ(there.reports[i].loss, here.reports[i].loss);
        EXPECT_EQ(there.reports[i].correct, here.reports[i].correct);
      }
    }
  }
}

// Also by engines that wrap the device's. No sample is read after the start.
TEST_F(Kept, AComputeNodeReadsNoSamples) {
  const nn::Model model = model_for_pictures();
  const DataSets data = byte_pictures(200, 50);
  Workload workload = model_workload(model, data, {.device = host_cuda});
  const auto make = workload.make_engine;
  std::uint64_t before = 0;
  const auto& train = dynamic_cast<const BytePictures&>(*data.train);
  workload.make_engine = [&] {
    std::unique_ptr<Engine> engine = std::make_unique<ThrottledEngine>(make(), Throttle());
    EXPECT_NE(engine->kept_data(), nullptr);
    EXPECT_NE(dynamic_cast<KeptFeed*>(make_feed(data, *engine, job_of(model, "bsp")).get()), nullptr);
    EXPECT_THAT(engine->description(), HasSubstr("; keeps all samples on the device, in 1 MB"));
    before = train.reads;
    return engine;
  };
  (void)answers(workload, job_of(model, "bsp"));
  // The check of the device keeps some samples of the first piece, for the processor.
  EXPECT_LE(train.reads, before + 32);
}

}  // namespace
}  // namespace steelyard::kept_on_device_test
