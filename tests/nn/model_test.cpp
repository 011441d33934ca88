#include <steelyard/model.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "core/error.h"

namespace steelyard::nn::model_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Model small() {
  return Model({8, 6, 2}, 3)
      .conv2d("conv", {.channels = 4, .kernel = 3, .padding = 1})
      .relu()
      .max_pool(2)
      .dropout(0.5)
      .linear("fc", 3);
}

std::string trouble(const std::function<void()>& build) {
  try {
    build();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::configuration);
    return failure.what();
  }
  return "no trouble";
}

TEST(Model, InfersShapes) {
  const Model model = small();
  std::vector<Shape> outputs;
  for (const Node& node : model.nodes()) outputs.push_back(node.shape);
  EXPECT_THAT(outputs, testing::ElementsAre(Shape{8, 6, 2}, Shape{8, 6, 4}, Shape{8, 6, 4}, Shape{4, 3, 4},
                                            Shape{4, 3, 4}, Shape{1, 1, 3}));
  const Model strided =
      Model({9, 9, 1}, 2).conv2d("c", {.channels = 1, .kernel = 3, .stride = 2}).average_pool(3);
  EXPECT_EQ(strided.nodes()[1].shape, (Shape{4, 4, 1}));
  EXPECT_EQ(strided.nodes()[2].shape, (Shape{1, 1, 1}));
}

TEST(Model, LaysTensorsOutInOrder) {
  const Layout layout = small().layout();
  ASSERT_EQ(layout.tensors.size(), 4U);
  EXPECT_EQ(layout.tensors[0], (TensorPlace{"conv.weight", {4, 2, 3, 3}, 0}));
  EXPECT_EQ(layout.tensors[1], (TensorPlace{"conv.bias", {4}, 72}));
  EXPECT_EQ(layout.tensors[2], (TensorPlace{"fc.weight", {3, 48}, 76}));
  EXPECT_EQ(layout.tensors[3], (TensorPlace{"fc.bias", {3}, 220}));
  EXPECT_EQ(layout.size(), 223U);
  EXPECT_EQ(layout.size(), small().parameters());
  EXPECT_EQ(layout.slice_size, 0U);
}

TEST(Model, InitializesEachTensorWithinItsBound) {
  const Model model = small();
  std::vector<float> values(model.parameters());
  model.initialize(values, 5);
  const auto expect_uniform = [&](std::size_t begin, std::size_t end, double bound) {
    double greatest = 0;
    for (std::size_t i = begin; i < end; ++i) greatest = std::max(greatest, std::abs(double{values[i]}));
    EXPECT_LE(greatest, bound);
    EXPECT_GT(greatest, 0.5 * bound);
  };
  expect_uniform(0, 76, 1 / std::sqrt(18.0));
  expect_uniform(76, 223, 1 / std::sqrt(48.0));
}

TEST(Model, InitializesAsAFunctionOfTheSeed) {
  const Model model = small();
  std::vector<float> first(model.parameters()), again(model.parameters()), other(model.parameters());
  model.initialize(first, 5);
  model.initialize(again, 5);
  model.initialize(other, 6);
  EXPECT_EQ(first, again);
  EXPECT_NE(first, other);
  EXPECT_NE(std::vector(first.begin(), first.begin() + 3),
            std::vector(first.begin() + 76, first.begin() + 79));
}

TEST(Model, CountsOperations) {
  // conv: 48 places x 72 weights, no gradient of the input; fc: 144 weights, all three products.
  EXPECT_DOUBLE_EQ(small().flops_per_sample(), 2.0 * (2 * 48 * 72 + 3 * 144));
}

TEST(Model, CopiesAreIndependent) {
  const Model one = small();
  Model two = one;
  two.relu();
  EXPECT_EQ(one.nodes().size(), 6U);
  EXPECT_EQ(two.nodes().size(), 7U);
}

TEST(Model, ErrorsNameLayerShapeAndRemedy) {
  EXPECT_THAT(trouble([] {
                Model({4, 4, 3}, 2).conv2d("wide", {.channels = 1, .kernel = 5});
              }),
              AllOf(HasSubstr("'wide'"), HasSubstr("4 x 4 x 3"), HasSubstr("add padding")));
  EXPECT_THAT(trouble([] {
                Model({4, 4, 3}, 2).max_pool(5);
              }),
              AllOf(HasSubstr("'max_pool1'"), HasSubstr("4 x 4 x 3"), HasSubstr("use a smaller one")));
  EXPECT_THAT(trouble([] { Model({4, 4, 3}, 2).average_pool(0); }), HasSubstr("'average_pool1'"));
  EXPECT_THAT(trouble([] {
                Model({4, 4, 3}, 2).relu().dropout(1);
              }),
              AllOf(HasSubstr("'dropout2'"), HasSubstr("[0, 1)")));
  EXPECT_THAT(trouble([] {
                Model({4, 4, 3}, 2).linear("fc", 0);
              }),
              AllOf(HasSubstr("'fc'"), HasSubstr("at least 1")));
  EXPECT_THAT(trouble([] {
                Model({4, 4, 3}, 2).conv2d("c", {.channels = 1, .kernel = 1, .stride = 0});
              }),
              AllOf(HasSubstr("'c'"), HasSubstr("stride")));
  EXPECT_THAT(trouble([] {
                Model({4, 4, 3}, 2).linear("fc", 5).linear("fc", 2);
              }),
              AllOf(HasSubstr("'fc'"), HasSubstr("names must differ")));
  EXPECT_THAT(trouble([] { Model({4, 0, 3}, 2); }), HasSubstr("4 x 0 x 3"));
  EXPECT_THAT(trouble([] { Model({4, 4, 3}, 1); }), HasSubstr("at least 2"));
}

TEST(Model, MustEndWithOneNumberPerClass) {
  const Model model = Model({4, 4, 1}, 10).linear("fc", 9);
  EXPECT_THAT(trouble([&] { (void)model.layout(); }),
              AllOf(HasSubstr("'fc'"), HasSubstr("1 x 1 x 9"), HasSubstr("10 classes")));
  EXPECT_THAT(trouble([] { Model({1, 1, 3}, 3).relu().check(); }), HasSubstr("no parameters"));
}

TEST(Model, MayHaveOneTargetAndHasOneRowOfThem) {
  const Model model = Model({1, 1, 3}, 1, Loss::mean_squared_error).linear("fc", 1);
  EXPECT_EQ(model.layout().size(), 4U);
  EXPECT_THAT(trouble([] { Model({1, 1, 3}, 0, Loss::mean_squared_error); }), HasSubstr("at least 1"));
  EXPECT_THAT(trouble([] {
                Model({1, 1, 3}, 2, Loss::mean_squared_error).linear("fc", 3).check();
              }),
              HasSubstr("there are 2 targets: end the model with a linear layer"));
  EXPECT_THAT(trouble([] {
                Model({1, 4, 3}, 2, Loss::binary_cross_entropy).token_linear("fc", {2}).check();
              }),
              AllOf(HasSubstr("'fc'"), HasSubstr("4 rows of outputs, and a loss of targets takes one")));
  EXPECT_THAT(trouble([] {
                Model({1, 1, 3}, 2, Loss::mean_squared_error).smooth_labels(0.1);
              }),
              HasSubstr("leave smoothing out"));
}

}  // namespace
}  // namespace steelyard::nn::model_test
