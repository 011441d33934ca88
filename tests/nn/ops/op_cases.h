// Cases for every op of the op table, for the tests that compare its columns: tests/nn/ops/every_op_test.cpp
// and tests/nn/cuda/every_op_on_cuda_test.cpp. A linear or smooth op needs no other tests.
#pragma once

#include <steelyard/layers.h>

#include <cstdint>
#include <vector>

namespace steelyard::nn {

struct OpCase {
  OpKind kind;
  std::vector<Shape> inputs;
  float tolerance = 2e-4F;  // between columns; 0 if the op only moves numbers
  bool smooth = true;       // random inputs are not at or near kinks
};

// Hand-computed numbers for one sample, forward and backward.
struct KnownAnswer {
  OpKind kind;
  std::vector<Shape> shapes;
  std::vector<std::vector<float>> inputs, parameters;
  std::vector<float> output, d_output;
  std::vector<std::vector<float>> d_inputs, d_parameters;
};

inline std::vector<KnownAnswer> known_answers() {
  const Shape two_tokens{1, 2, 2};
  // clang-format off
  return {
      {Add(), {{1, 1, 3}, {1, 1, 3}}, {{1, 2, 3}, {10, -20, 30}}, {},
       {11, -18, 33}, {5, 6, 7}, {{5, 6, 7}, {5, 6, 7}}, {}},
      {Scale(), {{1, 2, 2}, {1, 1, 2}}, {{1, 2, 3, 4}, {10, 100}}, {},
       {10, 200, 30, 400}, {5, 6, 7, 8}, {{50, 600, 70, 800}, {26, 44}}, {}},
      {Concat(), {{1, 2, 1}, {1, 2, 2}}, {{1, 2}, {10, 20, 30, 40}}, {},
       {1, 10, 20, 2, 30, 40}, {1, 2, 3, 4, 5, 6}, {{1, 4}, {2, 3, 5, 6}}, {}},
      {ChannelSlice(1, 3), {{1, 2, 4}}, {{1, 2, 3, 4, 10, 20, 30, 40}}, {},
       {2, 3, 20, 30}, {5, 6, 7, 8}, {{0, 5, 6, 0, 0, 7, 8, 0}}, {}},
      {ChannelShuffle(2), {{1, 2, 6}}, {{1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60}}, {},
       {1, 4, 2, 5, 3, 6, 10, 40, 20, 50, 30, 60}, {1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60},
       {{1, 3, 5, 2, 4, 6, 10, 30, 50, 20, 40, 60}}, {}},
      {GlobalAveragePool(), {{1, 2, 3}}, {{1, 2, 3, 5, 0, -9}}, {},
       {3, 1, -3}, {4, 6, 8}, {{2, 3, 4, 2, 3, 4}}, {}},
      {PositionEmbedding{}, {two_tokens}, {{1, 2, 3, 4}}, {{10, 20, 30, 40}},
       {11, 22, 33, 44}, {1, 2, 3, 4}, {{1, 2, 3, 4}}, {{1, 2, 3, 4}}},
      {ClassToken(), {two_tokens}, {{1, 2, 3, 4}}, {{10, 20}},
       {10, 20, 1, 2, 3, 4}, {1, 2, 3, 4, 5, 6}, {{3, 4, 5, 6}}, {{1, 2}}},
      {SelectToken(1), {two_tokens}, {{1, 2, 3, 4}}, {}, {3, 4}, {1, 2}, {{0, 0, 1, 2}}, {}},
      {Tokens(), {two_tokens}, {{1, 2, 3, 4}}, {}, {1, 2, 3, 4}, {1, 2, 3, 4}, {{1, 2, 3, 4}}, {}},
      {TokenLinear{.outputs = 1}, {two_tokens}, {{1, 2, 3, 4}}, {{10, 100}, {5}},
       {215, 435}, {1, 2}, {{10, 100, 20, 200}}, {{7, 10}, {3}}},
  };
  // clang-format on
}

// Many ops have several kernels, for few and many channels, for full vectors and remainders.
inline std::vector<OpCase> op_cases() {
  std::vector<OpCase> cases{
      {Conv2d{.channels = 5, .kernel = 3, .padding = 1}, {{3, 4, 3}}},
      {MaxPool(2), {{6, 5, 3}}, 1e-6F, false},
      {AveragePool(3, 2, 1), {{5, 6, 3}}, 1e-5F},
      {Activation(Activation::Kind::silu), {{3, 5, 7}}, 1e-5F},
      {TokenLinear{.outputs = 4}, {{2, 3, 5}}},
      {TokenLinear{.outputs = 4, .bias = false}, {{2, 3, 5}}},
      {TokenLinear{.outputs = 3, .bias = false}, {{1, 17, 33}}},
      {LayerNorm(), {{1, 5, 33}}, 2e-4F, false},
      {BatchNorm(), {{3, 5, 7}}, 2e-4F, false},
      {GroupNorm(3), {{3, 5, 6}}, 2e-4F, false},
      {Embedding{.rows = 5, .features = 7}, {{1, 6, 1}}, 2e-4F, false},
      {Attention(2, true), {{1, 6, 24}}, 2e-4F, false},
  };
  for (const Shape shape : {Shape{1, 1, 1}, Shape{3, 5, 7}, Shape{8, 8, 12}, Shape{7, 31, 40}}) {
    cases.push_back({Add(), {shape, shape}, 1e-6F});
  }
  for (const Shape shape : {Shape{1, 1, 1}, Shape{1, 1, 8}, Shape{3, 5, 1}, Shape{3, 5, 19}, Shape{2, 2, 64},
                            Shape{7, 7, 40}, Shape{17, 9, 7}}) {
    cases.push_back({Scale(), {shape, {1, 1, shape.channels}}, 1e-5F});
  }
  for (const std::vector<std::uint32_t>& parts :
       {std::vector<std::uint32_t>{1, 1}, {1, 7}, {16, 33}, {5, 40, 3}, {8, 4, 12}, {33, 7, 2, 8}}) {
    OpCase concat{Concat(), {}, 0};
    for (const std::uint32_t channels : parts) concat.inputs.push_back({3, 5, channels});
    cases.push_back(std::move(concat));
  }
  constexpr std::uint32_t slices[][3] = {{0, 1, 1},    {0, 1, 5},    {2, 5, 5},    {2, 6, 8},
                                         {0, 8, 16},   {8, 16, 16},  {3, 20, 33},  {0, 38, 38},
                                         {19, 20, 38}, {19, 38, 38}, {37, 38, 38}, {4, 8, 40}};
  for (const auto& [begin, end, channels] : slices) {
    cases.push_back({ChannelSlice(begin, end), {{3, 5, channels}}, 0});
  }
  constexpr std::uint32_t shuffles[][2] = {{1, 3},  {2, 1}, {2, 7}, {3, 5}, {3, 2}, {4, 10},
                                           {4, 29}, {5, 3}, {5, 4}, {8, 2}, {8, 7}, {116, 1}};
  for (const auto& [groups, length] : shuffles) {
    cases.push_back({ChannelShuffle(groups), {{3, 5, groups * length}}, 0});
  }
  for (const Shape shape : {Shape{1, 1, 1}, Shape{1, 1, 19}, Shape{2, 3, 5}, Shape{7, 31, 40}, Shape{8, 8, 3},
                            Shape{1, 17, 300}}) {
    cases.push_back({GlobalAveragePool(), {shape}, 1e-5F});
  }
  for (const std::uint32_t features : {1U, 3U, 16U, 40U, 141U, 301U}) {
    const Shape sequence{1, 5, features};
    for (const PositionEmbedding& op : {PositionEmbedding{}, PositionEmbedding{.rows = 50},
                                        PositionEmbedding{.rows = 3, .first_only = true}}) {
      cases.push_back({op, {sequence}});
    }
    cases.push_back({ClassToken(), {sequence}});
    cases.push_back({SelectToken(0), {sequence}, 0});
    cases.push_back({SelectToken(4), {sequence}, 0});
    cases.push_back({Tokens(), {{2, 3, features}}, 0});
  }
  cases.push_back({ClassToken(), {{1, 1, 1}}});
  cases.push_back({PositionEmbedding{}, {{1, 1, 1}}});
  return cases;
}

}  // namespace steelyard::nn
