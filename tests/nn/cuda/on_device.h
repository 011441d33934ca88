// An op of a CUDA device for tests that keep their numbers on the host, as floats: each call copies
// everything to the device, in the storage of the op's place, and back. Arguments that share a buffer on the
// host share one on the device.
#pragma once

#include <limits>
#include <map>
#include <memory>
#include <vector>

#include "nn/cuda/context.h"
#include "nn/op_table.h"
#include "tests/nn/cuda/schedules.h"
#include "tests/nn/ops/op_checks.h"

namespace steelyard::nn::cuda {

class OnDevice final : public Op {
 public:
  using Make = std::function<std::unique_ptr<Op>(const OpPlace& place, const Context& context)>;

  // `tensors` lists the number of floats of each parameter.
  OnDevice(const Make& make, const OpPlace& place, std::vector<std::uint64_t> tensors,
           std::uint32_t grain = 0)
      : place_(place),
        inputs_(place.storage),
        tensors_(std::move(tensors)),
        numbers_(1),
        positions_(place.micro_batch) {
    context_.grain = grain;
    op_ = make(place_, context_);
  }
  explicit OnDevice(const Question& q, std::uint32_t grain = 0)
      : OnDevice(
            [&](const OpPlace& place, const Context& context) {
              return std::visit([&](const auto& op) { return cuda::make(op, place, context); }, q.kind);
            },
            q.place, sizes(q), grain) {
    if (std::holds_alternative<Embedding>(q.kind)) inputs_ = Storage::float32;
  }
  OnDevice(const Make& make, const Question& q) : OnDevice(make, q.place, sizes(q)) {}

  void forward(const Pass& pass, const Forward& call) override {
    Copies copies(stream_);
    upload(pass);
    const std::vector<const float*> inputs = inputs_of(copies, pass, call.inputs);
    const std::vector<const float*> parameters = parameters_of(copies, call.parameters);
    float* const output = copies.of(call.output, place_.output.size() * pass.size(), place_.storage);
    float* const sum = call.sum == nullptr
                           ? nullptr
                           : copies.of(call.sum, place_.output.size() * pass.size(), place_.storage);
    const DeviceArray<float> workspace(traits().workspace);
    op_->forward({constants(pass), pass.training}, {inputs, parameters, output, workspace.data(), sum});
    copies.back();
  }

  void backward(const Pass& pass, const Backward& call) override {
    Copies copies(stream_);
    upload(pass);
    const std::vector<const float*> inputs = inputs_of(copies, pass, call.inputs);
    const std::vector<const float*> parameters = parameters_of(copies, call.parameters);
    const std::uint64_t out = place_.output.size() * pass.size();
    const float* const output = copies.of(const_cast<float*>(call.output), out, place_.storage);
    float* const d_output = copies.of(call.d_output, out, place_.storage);
    std::vector<InputGradient> d_inputs;
    for (std::size_t i = 0; i < call.d_inputs.size(); ++i) {
      const auto [to, add] = call.d_inputs[i];
      d_inputs.push_back(
          {to == nullptr ? nullptr : copies.of(to, place_.inputs[i].size() * pass.size(), inputs_), add});
    }
    std::vector<float*> d_parameters;
    for (std::size_t i = 0; i < call.d_parameters.size(); ++i) {
      d_parameters.push_back(copies.of(call.d_parameters[i], tensors_[i], Storage::float32));
    }
    const DeviceArray<float> workspace(traits().workspace);
    op_->backward({constants(pass), true},
                  {inputs, parameters, output, d_output, d_inputs, d_parameters, call.add, workspace.data()});
    copies.back();
  }

  [[nodiscard]] Traits traits() const override { return op_->traits(); }
  [[nodiscard]] std::uint64_t bytes() const override { return op_->bytes(); }
  [[nodiscard]] std::string implementation() const override { return op_->implementation(); }

 private:
  // Device buffers by the address of their host buffer.
  class Copies {
   public:
    explicit Copies(Stream& stream) : stream_(stream) {}

    float* of(float* host, std::uint64_t size, Storage storage) {
      auto found = copies_.find(host);
      if (found == copies_.end()) {
        found = copies_.emplace(host, Copy(size, storage)).first;
        const Copy& copy = found->second;
        in_storage(storage, [&](auto number) {
          std::copy_n(host, size, static_cast<decltype(number)*>(copy.pinned.data()));
        });
        stream_.copy(copy.device.data(), copy.pinned.data(), copy.device.bytes());
      }
      return static_cast<float*>(found->second.device.data());
    }
    void back() {
      for (auto& [host, copy] : copies_) {
        stream_.copy(copy.pinned.data(), copy.device.data(), copy.device.bytes());
      }
      stream_.synchronize();
      for (auto& [host, copy] : copies_) {
        in_storage(copy.storage, [&, to = host, &copied = copy](auto number) {
          std::copy_n(static_cast<decltype(number)*>(copied.pinned.data()), copied.size, to);
        });
      }
    }

   private:
    struct Copy {
      Copy(std::uint64_t numbers, Storage of)
          : size(numbers), storage(of), device(numbers * bytes_of(of)), pinned(numbers * bytes_of(of)) {}
      std::uint64_t size;
      Storage storage;
      DeviceMemory device;
      PinnedMemory pinned;
    };
    Stream& stream_;
    std::map<float*, Copy> copies_;
  };

  std::vector<const float*> inputs_of(Copies& copies, const Pass& pass,
                                      std::span<const float* const> host) const {
    std::vector<const float*> all;
    for (std::size_t i = 0; i < host.size(); ++i) {
      all.push_back(copies.of(const_cast<float*>(host[i]), place_.inputs[i].size() * pass.size(), inputs_));
    }
    return all;
  }
  std::vector<const float*> parameters_of(Copies& copies, std::span<const float* const> host) const {
    std::vector<const float*> all;
    for (std::size_t i = 0; i < host.size(); ++i) {
      all.push_back(copies.of(const_cast<float*>(host[i]), tensors_[i], Storage::float32));
    }
    return all;
  }

  static std::vector<std::uint64_t> sizes(const Question& q) {
    std::vector<std::uint64_t> sizes;
    for (const Floats& tensor : q.parameters) sizes.push_back(tensor.size());
    return sizes;
  }

  void upload(const Pass& pass) {
    *pinned_numbers_.data() = {pass.batch.seed, pass.batch.epoch, pass.batch.count};
    for (std::uint32_t s = 0; s < pass.size(); ++s) {
      pinned_positions_.data()[s] = pass.batch.positions == nullptr ? s : pass.batch.positions[s];
    }
    stream_.copy_array(numbers_.data(), pinned_numbers_.data(), 1);
    stream_.copy_array(positions_.data(), pinned_positions_.data(), pass.size());
  }

  // The part of a pass that an op may use during capture.
  const MicroBatch& constants(const Pass& pass) {
    constants_ = {.size = pass.size(), .count = std::numeric_limits<std::uint32_t>::max()};
    return constants_;
  }

  OpPlace place_;
  Storage inputs_;
  std::vector<std::uint64_t> tensors_;
  MicroBatch constants_;
  Stream stream_;
  Products products_{stream_, place_.precision};
  DeviceArray<BatchNumbers> numbers_;
  DeviceArray<std::uint64_t> positions_;
  PinnedArray<BatchNumbers> pinned_numbers_{1};
  PinnedArray<std::uint64_t> pinned_positions_{place_.micro_batch};
  Context context_{stream_, products_, numbers_.data(), positions_.data(), nullptr};
  std::unique_ptr<Op> op_;
};

// Numbers that are exact in bfloat16, so that an op differs from the reference only by how it stores results.
inline void shorten(Question& q) {
  const auto all = [](Floats& values) {
    for (float& value : values) value = Bf16(value);
  };
  for (Floats& values : q.inputs) all(values);
  for (Floats& values : q.parameters) all(values);
  all(q.d_output);
}

// Results that are stored in bfloat16 are rounded by up to one part in 256.
inline float tolerance_in(Storage storage, float tolerance) {
  return tolerance + (storage == Storage::bf16 ? 0x1p-8F : 0);
}

// Compares the op of the device, in one storage, with the reference: full, padded and single-sample
// micro-batches; training and evaluation; all combinations of buffers; each schedule of the host executor.
inline void expect_good_cuda_op(Storage storage, const OpKind& kind, const std::vector<Shape>& inputs,
                                Random& random, float tolerance) {
  SCOPED_TRACE(storage == Storage::bf16 ? "in bf16" : "in float32");
  tolerance = tolerance_in(storage, tolerance);
  Question first = random_question(kind, inputs, 1, 1, false, random);
  first.place.storage = storage;
  OnDevice op(first);
  const std::unique_ptr<Op> reference = reference_op(first);
  using Sizes = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  for (const auto& [size, count] : thorough ? Sizes{{32, 32}, {4, 3}, {1, 1}} : Sizes{{2, 1}}) {
    SCOPED_TRACE(testing::Message() << "size " << size << ", count " << count);
    const MicroBatch batch{.size = size, .count = count, .seed = 7, .epoch = 3};
    const Pass pass{batch, true}, evaluation{batch, false};
    Question q = random_question(kind, inputs, size, count, count != size, random);
    if (storage == Storage::bf16) shorten(q);
    const Answer expected = run(*reference, q, pass);
    if (size <= 4) {
      in_each_schedule([&] { expect_same(run(op, q, pass), expected, q, pass, tolerance); });
    } else {
      expect_same(run(op, q, pass), expected, q, pass, tolerance);
    }
    if (size == 4) expect_all_buffers(op, q, pass, expected, tolerance);
    const Answer evaluated = run(*reference, q, evaluation);
    expect_same(run(op, q, evaluation), evaluated, q, evaluation, tolerance);
  }
}

inline void expect_good_cuda_op(const OpKind& kind, const std::vector<Shape>& inputs, Random& random,
                                float tolerance = 2e-4F) {
  for (const Storage storage : {Storage::float32, Storage::bf16})
    expect_good_cuda_op(storage, kind, inputs, random, tolerance);
}

// Expects that each barrier in this file ("layer_norm.cu") is needed: without it, at least one of the
// questions gets a wrong answer. The expected answers come from another run of the same op.
inline void expect_needed_barriers(const std::string& file, const std::vector<Question>& questions,
                                   std::uint32_t size, std::uint32_t count) {
  if (!thorough) GTEST_SKIP() << "the effect of a missing barrier is undefined here";
  const MicroBatch batch{.size = size, .count = count, .seed = 7, .epoch = 3};
  const Pass pass{batch, true};
  const auto answer = [&](const Question& q) {
    OnDevice op(q);
    return run(op, q, pass);
  };
  std::vector<Answer> expected;
  for (const Question& q : questions) expected.push_back(answer(q));
  expect_barriers_of(file, [&] {
    for (std::size_t i = 0; i < questions.size(); ++i) {
      const Answer other = answer(questions[i]);
      if (other.output != expected[i].output || other.d_inputs != expected[i].d_inputs ||
          other.d_parameters != expected[i].d_parameters) {
        return false;
      }
    }
    return true;
  });
}

}  // namespace steelyard::nn::cuda
