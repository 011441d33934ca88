// Runs one op forward and backward in the orders that it uses, and returns everything in the order of
// samples, so that ops of different orders and backends can be compared number by number.
//
// Buffers that an op must write are filled with NaN before: outputs, gradients of inputs, workspace; before
// backward also buffers that the op declares as not read. Padded samples are random in the inputs and zero in
// the gradient of the output; their outputs must be finite and their gradients zero.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/processor.h"
#include "core/random.h"
#include "nn/op_table.h"

namespace steelyard::nn {

using Floats = std::vector<float>;

inline Floats random_floats(std::uint64_t size, Random& random) {
  Floats values(size);
  for (float& value : values) value = static_cast<float>(2 * random.uniform() - 1);
  return values;
}

// Place of a sample's feature (counted as row, column, channel) in a buffer of `places` samples.
inline std::uint64_t place_of(Order order, Shape shape, std::uint64_t places, std::uint64_t sample,
                              std::uint64_t feature) {
  if (order == Order::samples) return sample * shape.size() + feature;
  const std::uint64_t pixels = std::uint64_t{shape.height} * shape.width;
  return (feature % shape.channels * pixels + feature / shape.channels) * places + sample;
}

// Converts from samples to `order`; lanes without a sample are zero.
inline Floats arranged(const Floats& samples, Order order, Shape shape, const Pass& pass) {
  Floats result(shape.size() * pass.places(order), 0.0F);
  for (std::uint64_t s = 0; s < pass.size(); ++s) {
    for (std::uint64_t f = 0; f < shape.size(); ++f) {
      result[place_of(order, shape, pass.places(order), s, f)] = samples[s * shape.size() + f];
    }
  }
  return result;
}

inline Floats as_samples(const Floats& values, Order order, Shape shape, const Pass& pass) {
  Floats result(shape.size() * pass.size());
  for (std::uint64_t s = 0; s < pass.size(); ++s) {
    for (std::uint64_t f = 0; f < shape.size(); ++f) {
      result[s * shape.size() + f] = values[place_of(order, shape, pass.places(order), s, f)];
    }
  }
  return result;
}

// The input of one check, in the order of samples; `d_parameters` is the gradient before the call.
struct Question {
  OpKind kind;
  OpPlace place;
  std::vector<Floats> inputs, parameters, d_parameters;
  Floats d_output;
  bool add = false;
  std::vector<Rule> rules{};  // per parameter: only gradients of rule `step` are derivatives
};

struct Answer {
  Floats output;
  std::vector<Floats> d_inputs, d_parameters;
};

// Random numbers in [-1, 1] everywhere; `count` of the `size` samples are real.
inline Question random_question(OpKind kind, std::vector<Shape> inputs, std::uint32_t size,
                                std::uint32_t count, bool add, Random& random) {
  Question q{.kind = std::move(kind),
             .place = {},
             .inputs = {},
             .parameters = {},
             .d_parameters = {},
             .d_output = {},
             .add = add};
  q.place.inputs = std::move(inputs);
  for (const Shape shape : q.place.inputs) q.inputs.push_back(random_floats(shape.size() * size, random));
  std::visit(
      [&](const auto& op) {
        q.place.output = op.shape(q.place.inputs);
        for (const ParameterSpec& spec : op.parameters(q.place.inputs)) {
          std::uint64_t floats = 1;
          for (const std::uint64_t length : spec.shape) floats *= length;
          q.parameters.push_back(random_floats(floats, random));
          if (spec.name == "running_var") {
            for (float& variance : q.parameters.back()) variance = 0.5F + std::abs(variance);
          }
          q.d_parameters.push_back(random_floats(floats, random));
          q.rules.push_back(spec.rule);
        }
      },
      q.kind);
  q.d_output = random_floats(q.place.output.size() * size, random);
  std::fill(q.d_output.begin() + static_cast<std::ptrdiff_t>(q.place.output.size() * count), q.d_output.end(),
            0.0F);
  return q;
}

inline std::unique_ptr<Op> reference_op(const Question& q) {
  return std::visit([&](const auto& op) { return reference::make(op, q.place); }, q.kind);
}
inline std::unique_ptr<Op> cpu_op(const Question& q, Order order = Order::samples) {
  OpPlace place = q.place;
  place.order = order;
  return std::visit([&](const auto& op) { return cpu::make(op, place); }, q.kind);
}

inline void expect_padding(const Floats& values, Shape shape, const Pass& pass, bool zero, const char* what) {
  for (std::uint64_t i = shape.size() * pass.batch.count; i < values.size(); ++i) {
    ASSERT_TRUE(zero ? values[i] == 0 : std::isfinite(values[i]))
        << what << " of a padded sample: " << values[i];
  }
}

// Which buffers a call gets. Sets of inputs are bits: 1 << input.
struct Buffers {
  bool in_place = true;        // if supported, as in a network
  std::size_t shared = 0;      // the input with its gradient written to d_output, if supported
  std::uint32_t unneeded = 0;  // gradients that are not requested
  std::uint32_t adds = 0;      // gradients that are added to existing values
};
inline constexpr std::size_t no_input = 31;
inline constexpr float already_there = 0.5F;  // initial value of gradients that are added to

// Gradients of inputs that are not requested are returned empty.
inline Answer run(Op& op, const Question& q, const Pass& pass, Order in = Order::samples,
                  Order out = Order::samples, const Buffers& how = {}) {
  const Traits traits = op.traits();
  const bool in_place = how.in_place && traits.in_place;
  const auto has = [](std::uint32_t set, std::size_t input) { return (set >> input & 1) != 0; };
  const auto shares = [&](std::size_t input) {
    if (in_place) return input == 0;
    return traits.d_in_place && input == how.shared && q.place.inputs[input] == q.place.output;
  };
  std::vector<Floats> inputs, d_inputs;
  for (std::size_t i = 0; i < q.inputs.size(); ++i) {
    inputs.push_back(arranged(q.inputs[i], in, q.place.inputs[i], pass));
    Floats before(q.inputs[i].size(), NAN);
    if (has(how.adds, i)) {
      const auto real = static_cast<std::ptrdiff_t>(q.place.inputs[i].size() * pass.batch.count);
      std::fill_n(before.begin(), real, already_there);
      std::fill(before.begin() + real, before.end(), 0.0F);
    }
    d_inputs.push_back(arranged(before, in, q.place.inputs[i], pass));
  }
  Floats d_output = arranged(q.d_output, out, q.place.output, pass);
  Floats own_output(q.place.output.size() * pass.places(out), NAN), workspace(traits.workspace, NAN);
  Floats& output = in_place ? inputs[0] : own_output;
  Answer answer{.output = {}, .d_inputs = {}, .d_parameters = q.d_parameters};
  std::vector<const float*> sources, parameters;
  std::vector<InputGradient> to;
  std::vector<float*> d_parameters;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    sources.push_back(inputs[i].data());
    float* const gradient = shares(i) ? d_output.data() : d_inputs[i].data();
    to.push_back({has(how.unneeded, i) ? nullptr : gradient, has(how.adds, i)});
  }
  for (std::size_t i = 0; i < q.parameters.size(); ++i) {
    parameters.push_back(q.parameters[i].data());
    d_parameters.push_back(answer.d_parameters[i].data());
  }
  op.forward(pass, {sources, parameters, output.data(), workspace.data()});
  answer.output = as_samples(output, out, q.place.output, pass);
  expect_padding(answer.output, q.place.output, pass, false, "output");
  if (!pass.training) return answer;
  std::fill(workspace.begin(), workspace.end(), NAN);
  for (Floats& input : inputs) {
    const bool is_read = &input == &output ? traits.reads_output : traits.reads_inputs;
    if (!is_read) std::fill(input.begin(), input.end(), NAN);
  }
  if (!traits.reads_output) std::fill(own_output.begin(), own_output.end(), NAN);
  op.backward(
      pass, {sources, parameters, output.data(), d_output.data(), to, d_parameters, q.add, workspace.data()});
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    answer.d_inputs.emplace_back();
    if (to[i].to == nullptr) continue;
    const Floats& d_input = shares(i) ? d_output : d_inputs[i];
    answer.d_inputs[i] = as_samples(d_input, in, q.place.inputs[i], pass);
    expect_padding(answer.d_inputs[i], q.place.inputs[i], pass, true, "gradient of the input");
  }
  return answer;
}

// Equal to within the rounding of float sums of a few thousand products of numbers near 1. If the values
// belong to samples, only the first `count` samples are compared.
inline void expect_near(const Floats& actual, const Floats& expected, const char* what,
                        float tolerance = 2e-4F) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << what << " at " << i;
  }
}

// Outputs of padded samples may differ.
inline void expect_same(const Answer& actual, const Answer& expected, const Question& q, const Pass& pass,
                        float tolerance = 2e-4F) {
  const auto real = [&](const Floats& all) {
    return Floats(all.begin(),
                  all.begin() + static_cast<std::ptrdiff_t>(q.place.output.size() * pass.batch.count));
  };
  expect_near(real(actual.output), real(expected.output), "output", tolerance);
  ASSERT_EQ(actual.d_inputs.size(), expected.d_inputs.size());
  for (std::size_t i = 0; i < actual.d_inputs.size(); ++i) {
    if (actual.d_inputs[i].empty()) continue;
    expect_near(actual.d_inputs[i], expected.d_inputs[i], "gradient of an input", tolerance);
  }
  for (std::size_t i = 0; i < actual.d_parameters.size(); ++i) {
    expect_near(actual.d_parameters[i], expected.d_parameters[i], "gradient of a parameter", tolerance);
  }
}

// Compares gradients with central differences of sum(output * d_output). These are exact up to rounding if
// the op is linear in the varied input; other ops need inputs further than `step` from their kinks.
inline void expect_true_gradients(Op& op, Question q, const Pass& pass, float step = 0.01F,
                                  float tolerance = 2e-3F) {
  q.add = false;
  const Answer answer = run(op, q, pass);
  const auto value = [&] {
    const Floats outputs = run(op, q, pass).output;
    double sum = 0;
    for (std::size_t i = 0; i < q.place.output.size() * pass.batch.count; ++i)
      sum += double{outputs[i]} * q.d_output[i];
    return sum;
  };
  const auto compare = [&](Floats& moved, const Floats& gradient, const char* what) {
    for (std::size_t i = 0; i < moved.size(); ++i) {
      const float before = moved[i];
      moved[i] = before + step;
      const double above = value();
      moved[i] = before - step;
      const double below = value();
      moved[i] = before;
      ASSERT_NEAR(gradient[i], (above - below) / (2.0 * step), tolerance * (1 + std::abs(gradient[i])))
          << what << " at " << i;
    }
  };
  for (std::size_t i = 0; i < q.inputs.size(); ++i) compare(q.inputs[i], answer.d_inputs[i], "input");
  for (std::size_t i = 0; i < q.parameters.size(); ++i) {
    if (q.rules[i] == Rule::step) compare(q.parameters[i], answer.d_parameters[i], "parameter");
  }
}

// Results must not depend on the buffers: nothing in place, the gradient of each input in d_output, some
// gradients not requested, and each set of gradients added to existing values.
inline void expect_all_buffers(Op& op, const Question& q, const Pass& pass, const Answer& expected,
                               float tolerance = 2e-4F) {
  const std::size_t inputs = q.inputs.size();
  std::vector<Buffers> ways{{.in_place = false, .shared = no_input}};
  for (std::size_t i = 0; i < inputs; ++i) ways.push_back({.in_place = false, .shared = i});
  for (std::uint32_t set = 1; set < 1U << inputs; ++set) {
    ways.push_back({.in_place = false, .shared = no_input, .unneeded = set});
    if (op.traits().adds) ways.push_back({.in_place = false, .shared = no_input, .adds = set});
  }
  for (const Buffers& how : ways) {
    SCOPED_TRACE(testing::Message() << "shared " << how.shared << ", unneeded " << how.unneeded << ", adds "
                                    << how.adds);
    Answer sums = expected;
    for (std::size_t i = 0; i < inputs; ++i) {
      if ((how.adds >> i & 1) == 0) continue;
      const auto real = static_cast<std::ptrdiff_t>(q.place.inputs[i].size() * pass.batch.count);
      for (std::ptrdiff_t at = 0; at < real; ++at)
        sums.d_inputs[i][static_cast<std::size_t>(at)] += already_there;
    }
    expect_same(run(op, q, pass, Order::samples, Order::samples, how), sums, q, pass, tolerance);
  }
}

// Compares an op with a trusted one, for micro-batches of every size, full and padded, with and without
// adding to gradients of parameters, with all combinations of buffers, in training and in evaluation.
inline void expect_same_op(Op& op, Op& believed, const OpKind& kind, const OpPlace& place, Random& random,
                           float tolerance = 2e-4F) {
  for (const std::uint32_t size : micro_batch_sizes) {
    for (const std::uint32_t count : {size, size - size / 4}) {
      const MicroBatch batch{.size = size, .count = count, .seed = 7, .epoch = 3};
      const Pass pass{batch, true}, evaluation{batch, false};
      const Question q = random_question(kind, place.inputs, size, count, count != size, random);
      SCOPED_TRACE(testing::Message() << "size " << size << ", count " << count);
      const Answer expected = run(believed, q, pass);
      expect_same(run(op, q, pass), expected, q, pass, tolerance);
      if (size == 4) expect_all_buffers(op, q, pass, expected, tolerance);
      const Answer evaluated = run(believed, q, evaluation);
      expect_same(run(op, q, evaluation), evaluated, q, evaluation, tolerance);
    }
  }
}

// Compares the CPU's op with the reference.
inline void expect_good_op(const OpKind& kind, const std::vector<Shape>& inputs, Random& random,
                           float tolerance = 2e-4F) {
  const Question q = random_question(kind, inputs, 1, 1, false, random);
  expect_same_op(*cpu_op(q), *reference_op(q), kind, q.place, random, tolerance);
}

// With factors that are exact in bfloat16, bf16 matches float32 up to the rounding of sums.
inline void expect_same_in_bf16(const OpKind& kind, const std::vector<Shape>& inputs, std::uint32_t size,
                                std::uint32_t count, bool add, Random& random, Order out = Order::samples) {
  const MicroBatch batch{.size = size, .count = count};
  const Pass pass{batch, true};
  Question q = random_question(kind, inputs, size, count, add, random);
  const auto shorten = [](Floats& values) {
    for (float& value : values)
      value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & 0xFFFF0000U);
  };
  for (Floats& values : q.inputs) shorten(values);
  for (Floats& values : q.parameters) shorten(values);
  shorten(q.d_output);
  const Answer expected = run(*reference_op(q), q, pass);
  q.place.precision = Precision::bf16;
  const auto op = cpu_op(q);
  expect_same(run(*op, q, pass, Order::samples, out), expected, q, pass);
  EXPECT_EQ(op->implementation().find("bf16") != std::string::npos, cpu_has_bf16()) << op->implementation();
}

}  // namespace steelyard::nn
