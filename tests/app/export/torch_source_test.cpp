// The text of the Python file. tests/bindings/python/test_export.py runs it, for every model.
#include "app/export/torch_source.h"

#include <gmock/gmock.h>

namespace steelyard::torch_source_test {
namespace {

using nn::Model;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string source(ExportedModel it) {
  it.title = "a model";
  return torch_source(it);
}
std::string source(const Model& model) { return source(ExportedModel{model, {}}); }

TEST(TorchSource, IsReadable) {
  Model model({6, 6, 2}, 3);
  model.conv2d("body.conv", {.channels = 4, .kernel = 3, .bias = false}).relu().max_pool(2).linear("fc", 3);
  const std::string text = source(ExportedModel{model, {}, {0.5, 1}, {2, 4}, {"cat", "big dog"}});
  EXPECT_THAT(text, HasSubstr("\"\"\"a model, written by steelyard export.\n"));
  EXPECT_THAT(text, HasSubstr("\nCLASSES = [\"cat\", \"big dog\"]\n\n\nclass Model(nn.Module):\n"));
  EXPECT_THAT(text, HasSubstr(R"(
        self.register_buffer("_mean", torch.tensor([0.5, 1]).view(-1, 1, 1), persistent=False)
        self.register_buffer("_deviation", torch.tensor([2, 4]).view(-1, 1, 1), persistent=False)
        self._place("body.conv", nn.Conv2d(2, 4, 3, bias=False))
        self._place("fc", nn.Linear(16, 3))
)"));
  EXPECT_THAT(text, HasSubstr(R"(
    def forward(self, x):
        x = (x - self._mean) / self._deviation
        x = self._at("body.conv")(x)
        x = F.relu(x)
        x = F.max_pool2d(x, 2, 2, 0)
        x = self._at("fc")(x.flatten(1))
        return x
)"));
}

// A value that a later node reads has a name of its own.
TEST(TorchSource, BranchesHaveNames) {
  Model model({1, 1, 4}, 3);
  const nn::Value x = model.input_value().linear("a", 4);
  nn::Value y = nn::Value(x).relu();
  y.add(x).linear("b", 3);
  EXPECT_THAT(source(model), HasSubstr(R"(
        x1 = self._at("a")(x)
        x = F.relu(x1)
        x = x + x1
        x = self._at("b")(x)
        return x
)"));
}

TEST(TorchSource, SharedLayersAreMadeOnce) {
  Model model({1, 1, 3}, 3);
  model.share_parameters().linear("a", 3).linear("a", 3);
  const std::string text = source(model), line = "self._place(\"a\"";
  EXPECT_EQ(text.find(line), text.rfind(line));
}

TEST(TorchSource, WhatAModelDoesNotNeedIsLeftOut) {
  const std::string text = source(Model({1, 1, 3}, 3).linear("a", 3));
  EXPECT_THAT(text,
              AllOf(Not(HasSubstr("attention")), Not(HasSubstr("import math")), Not(HasSubstr(" as F"))));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("CLASSES")), Not(HasSubstr("self._mean"))));
}

}  // namespace
}  // namespace steelyard::torch_source_test
