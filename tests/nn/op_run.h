// Runs one op forward and backward in whatever orders it works in, and gives everything back in the order of
// samples, so that ops of different orders can be compared number by number.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "core/random.h"
#include "nn/layers/op.h"

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

// From samples to `order`; lanes that hold no sample are zero.
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

// What an op is asked, everything in samples; `d_parameters` is what lies in the gradient before.
struct Question {
  Shape input, output;
  Floats inputs, d_outputs, parameters, d_parameters;
  bool add = false;
};

struct Answer {
  Floats outputs, d_inputs, d_parameters;
  Floats raw_d_inputs;  // in the op's own order, padding lanes included
};

inline Question random_question(Shape input, Shape output, std::uint64_t parameters, std::uint32_t size,
                                bool add, Random& random) {
  return {input,
          output,
          random_floats(input.size() * size, random),
          random_floats(output.size() * size, random),
          random_floats(parameters, random),
          random_floats(parameters, random),
          add};
}

// Ops that can work in place do so, as in a network.
inline Answer run(Op& op, Order in, Order out, const Question& question, const Pass& pass) {
  Floats input = arranged(question.inputs, in, question.input, pass);
  Floats d_output = arranged(question.d_outputs, out, question.output, pass);
  Floats own_output(question.output.size() * pass.places(out), NAN), own_d_input(input.size(), NAN);
  Floats& output = op.in_place() ? input : own_output;
  Floats& d_input = op.in_place() ? d_output : own_d_input;
  Answer answer;
  answer.d_parameters = question.d_parameters;
  op.forward(pass, question.parameters.data(), input.data(), output.data());
  answer.outputs = as_samples(output, out, question.output, pass);
  op.backward(pass, question.parameters.data(),
              {input.data(), output.data(), d_output.data(), d_input.data(), answer.d_parameters.data(),
               question.add});
  answer.d_inputs = as_samples(d_input, in, question.input, pass);
  answer.raw_d_inputs = d_input;
  return answer;
}

// Equal to within what float sums of a few thousand products of numbers near 1 may differ.
inline void expect_near(const Floats& actual, const Floats& expected, const char* what,
                        float tolerance = 2e-4F) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << what << " at " << i;
  }
}

inline void expect_same(const Answer& actual, const Answer& expected, float tolerance = 2e-4F) {
  expect_near(actual.outputs, expected.outputs, "output", tolerance);
  expect_near(actual.d_inputs, expected.d_inputs, "gradient of the input", tolerance);
  expect_near(actual.d_parameters, expected.d_parameters, "gradient of the parameters", tolerance);
}

// Compares an op's gradients with central differences of sum(output * d_output). Exact up to rounding for ops
// that are linear in what is moved; others need inputs that are further than `step` from their kinks.
inline void expect_true_gradients(Op& op, Order order, Question question, const Pass& pass,
                                  float step = 0.01F) {
  question.add = false;
  const Answer answer = run(op, order, order, question, pass);
  const auto value = [&] {
    const Floats outputs = run(op, order, order, question, pass).outputs;
    double sum = 0;
    for (std::size_t i = 0; i < outputs.size(); ++i) sum += double{outputs[i]} * question.d_outputs[i];
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
      ASSERT_NEAR(gradient[i], (above - below) / (2.0 * step), 2e-3) << what << " at " << i;
    }
  };
  compare(question.inputs, answer.d_inputs, "input");
  compare(question.parameters, answer.d_parameters, "parameter");
}

}  // namespace steelyard::nn
