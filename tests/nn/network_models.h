// Models that cover every op and every transition between two orders, and samples for them.
#pragma once

#include <steelyard/micro_batch.h>
#include <steelyard/model.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"

namespace steelyard::nn {

// Samples with learnable labels: each class is a random prototype plus noise.
struct Data {
  std::uint64_t features;
  std::uint32_t per_sample;  // labels
  std::vector<float> inputs;
  std::vector<std::uint32_t> labels;
  std::vector<std::uint64_t> positions;
  std::uint32_t targets_each;  // 0: the loss takes labels
  std::vector<float> targets;

  Data(const Model& model, std::uint32_t count, std::uint64_t seed)
      : features(model.input().size()),
        per_sample(model.labels()),
        targets_each(takes_targets(model.loss()) ? model.classes() : 0) {
    Random random(seed);
    std::vector<double> prototypes(model.classes() * features);
    for (double& value : prototypes) value = random.normal();
    const bool tokens = std::holds_alternative<Embedding>(model.nodes()[1].kind);
    for (std::uint32_t s = 0; s < count; ++s) {
      for (std::uint32_t l = 0; l < per_sample; ++l) {
        labels.push_back(static_cast<std::uint32_t>(random.below(model.classes())));
      }
      positions.push_back(100 + s);
      for (std::uint64_t f = 0; f < features; ++f) {
        const double value = prototypes[labels.back() * features + f] + 0.5 * random.normal();
        inputs.push_back(tokens ? static_cast<float>(random.below(7)) : static_cast<float>(value));
      }
      for (std::uint32_t t = 0; t < targets_each; ++t)  // 0 and 1 for all losses
        targets.push_back(labels.back() == t ? 1 : 0);
    }
  }

  [[nodiscard]] MicroBatch batch(std::uint32_t first, std::uint32_t size, std::uint32_t count) const {
    return {inputs.data() + first * features,
            labels.data() + first * per_sample,
            positions.data() + first,
            size,
            count,
            1,
            2,
            targets.empty() ? nullptr : targets.data() + std::uint64_t{first} * targets_each};
  }
};

inline std::vector<float> initial(const Model& model) {
  std::vector<float> values(model.parameters());
  model.initialize(values, 3);
  return values;
}

inline Model graph(Shape input, std::uint32_t classes, const std::function<void(Value)>& build) {
  Model model(input, classes);
  build(model.input_value());
  return model;
}

inline Value encoder(Value x, const std::string& name, bool causal) {
  const std::uint32_t width = x.shape().channels;
  Value y = x.layer_norm(name + ".n1").token_linear(name + ".qkv", {.outputs = 3 * width});
  x = y.attention(2, causal).token_linear(name + ".out", {.outputs = width}).add(x);
  y = x.token_linear(name + ".up", {.outputs = 2 * width})
          .gelu()
          .token_linear(name + ".down", {.outputs = width});
  return y.add(x).layer_norm(name + ".n2");
}

// Models that are not a chain of ops.
inline std::vector<std::pair<std::string, Model>> branching_models() {
  std::vector<std::pair<std::string, Model>> all;
  all.emplace_back(
      "residual", graph({6, 6, 3}, 3, [](Value x) {
        x = x.conv2d("a", {.channels = 9, .kernel = 3, .padding = 1}).relu();
        Value y = x.conv2d("b", {.channels = 9, .kernel = 3, .padding = 1}).silu();
        y = y.add(x).relu();
        y = concat({y, x.channel_slice(0, 3)}).channel_shuffle(2);
        y = y.scale(y.global_average_pool().conv2d("s", {.channels = 12, .kernel = 1}).sigmoid());
        y.group_norm("n", GroupNorm(3)).max_pool(3, 2, 1).linear("c", 3);
      }));
  all.emplace_back("patches", graph({4, 4, 3}, 3, [](Value x) {
                     x = x.conv2d("a", {.channels = 8, .kernel = 2, .stride = 2}).tokens().class_token("cls");
                     x = x.position_embedding("p", {.bare = true, .batch_axis = true});
                     x = encoder(encoder(x, "l0", false), "l1", false);
                     x.layer_norm("n").select_token(0).linear("c", 3);
                   }));
  all.emplace_back("shared layers", graph({1, 5, 1}, 3, [](Value x) {
                     x = x.embedding("e", {.rows = 7, .features = 8}).position_embedding("p", {.rows = 9});
                     x = encoder(x, "l", false);
                     x.model().share_parameters();
                     x = encoder(encoder(x, "l", false), "l", false);
                     x.global_average_pool().dropout(0.2).linear("c", 3);
                   }));
  all.emplace_back("several labels", graph({1, 6, 1}, 7, [](Value x) {
                     x = x.embedding("e", {.rows = 7, .features = 8});
                     encoder(x, "l", true).token_linear("head", {.outputs = 7, .bias = false});
                   }));
  return all;
}

// Models that cover every op and every transition between two orders.
inline std::vector<std::pair<std::string, Model>> models() {
  std::vector<std::pair<std::string, Model>> all;
  all.emplace_back("linear", Model({3, 3, 2}, 4).linear("fc", 4));
  all.emplace_back("hinge", Model({3, 3, 2}, 4, Loss::hinge).linear("fc", 4));
  all.emplace_back("squared errors", Model({1, 1, 20}, 3, Loss::mean_squared_error).linear("fc", 3));
  all.emplace_back("absolute errors", Model({1, 1, 20}, 1, Loss::mean_absolute_error).linear("fc", 1));
  all.emplace_back("binary answers", Model({3, 3, 2}, 5, Loss::binary_cross_entropy).linear("fc", 5));
  all.emplace_back("mlp with dropout",
                   Model({1, 1, 20}, 5).linear("a", 33).relu().dropout(0.3).linear("b", 5));
  all.emplace_back("dropout first", Model({1, 1, 20}, 5).dropout(0.3).linear("a", 5));
  all.emplace_back("direct, pool first", Model({8, 8, 3}, 3)
                                             .max_pool(2)
                                             .conv2d("a", {.channels = 4, .kernel = 3, .padding = 1})
                                             .relu()
                                             .dropout(0.2)
                                             .linear("b", 3));
  all.emplace_back("like lenet", Model({12, 12, 1}, 4)
                                     .conv2d("a", {.channels = 3, .kernel = 3, .padding = 1})
                                     .relu()
                                     .max_pool(2)
                                     .conv2d("b", {.channels = 5, .kernel = 3})
                                     .relu()
                                     .average_pool(2)
                                     .linear("c", 9)
                                     .relu()
                                     .linear("d", 4));
  all.emplace_back("direct then oneDNN",
                   Model({9, 9, 2}, 3)
                       .conv2d("a", {.channels = 8, .kernel = 3, .padding = 1})
                       .relu()
                       .conv2d("b", {.channels = 16, .kernel = 3, .stride = 2, .padding = 1})
                       .relu()
                       .max_pool(2)
                       .dropout(0.4)
                       .linear("c", 3));
  all.emplace_back("oneDNN then direct", Model({10, 10, 8}, 3)
                                             .conv2d("a", {.channels = 4, .kernel = 3})
                                             .relu()
                                             .average_pool(2)
                                             .conv2d("b", {.channels = 3, .kernel = 2})
                                             .max_pool(3)
                                             .linear("c", 3));
  all.emplace_back("convolution last", Model({4, 4, 2}, 3).conv2d("a", {.channels = 3, .kernel = 4}));
  all.emplace_back("oneDNN last", Model({4, 4, 9}, 3).conv2d("a", {.channels = 3, .kernel = 4}));
  all.emplace_back("linear then convolution",
                   Model({1, 1, 6}, 3).linear("a", 9).conv2d("b", {.channels = 3, .kernel = 1}));
  for (auto& one : branching_models()) all.push_back(std::move(one));
  return all;
}

// Models with statistics over a micro-batch; they cover every combination of batch norm and neighbouring op.
inline std::vector<std::pair<std::string, Model>> models_with_grains() {
  std::vector<std::pair<std::string, Model>> all;
  const Conv2d conv{.channels = 8, .kernel = 3, .padding = 1, .bias = false};
  all.emplace_back("residual blocks", graph({6, 6, 3}, 3, [=](Value x) {
                     x = x.conv2d("a", conv).batch_norm("an").relu();
                     Value y = x.conv2d("b", conv).batch_norm("bn").add(x).relu();
                     Value z = y.conv2d("c", conv).batch_norm("cn");
                     z = z.add(y.conv2d("d", conv).batch_norm("dn")).relu();
                     z = z.batch_norm("zn").silu().add(y).batch_norm("en");
                     z.global_average_pool().linear("f", 3);
                   }));
  all.emplace_back("norm first", graph({6, 6, 3}, 3, [=](Value x) {
                     x = x.batch_norm("n").conv2d("a", conv).max_pool(2);
                     x = concat({x, x.batch_norm("m").relu().conv2d("b", conv)});
                     x.linear("f", 3);
                   }));
  return all;
}

inline void expect_near(const std::vector<float>& actual, const std::vector<float>& expected,
                        double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << "at " << i;
  }
}

}  // namespace steelyard::nn
