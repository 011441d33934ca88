#include "app/export/forms.h"

#include <gmock/gmock.h>

namespace steelyard::forms_test {
namespace {

using nn::Model;
using testing::ElementsAre;

std::vector<Form> outputs(const Model& model) {
  std::vector<Form> all;
  for (const NodeForms& forms : forms_of(model)) all.push_back(forms.output);
  return all;
}

TEST(Forms, TheInputFollowsFromItsReaders) {
  EXPECT_EQ(forms_of(Model({1, 1, 5}, 3).linear("fc", 3))[0].input, Form::vector);
  EXPECT_EQ(forms_of(Model({4, 4, 1}, 3).linear("fc", 3))[0].input, Form::picture);
  EXPECT_EQ(forms_of(Model({1, 6, 4}, 3).token_linear("fc", {.outputs = 3}))[0].input, Form::sequence);
  EXPECT_EQ(
      forms_of(Model({1, 6, 1}, 3).embedding("e", {9, 4}).global_average_pool().linear("fc", 3))[0].input,
      Form::indices);
}

TEST(Forms, PicturesBecomeTokensAndTokensVectors) {
  Model model({4, 4, 3}, 3);
  model.conv2d("c", {.channels = 6, .kernel = 2, .stride = 2}).tokens().attention(1).relu();
  model.select_token(1).linear("fc", 3);
  EXPECT_THAT(outputs(model), ElementsAre(Form::picture, Form::picture, Form::sequence, Form::sequence,
                                          Form::sequence, Form::vector, Form::vector));
  EXPECT_EQ(form_of_scores(model), Form::vector);
}

TEST(Forms, AVectorIsOneToken) {
  Model model({1, 1, 5}, 3);
  model.layer_norm("n").token_linear("t", {.outputs = 4}).batch_norm("b").linear("fc", 3);
  EXPECT_THAT(outputs(model),
              ElementsAre(Form::vector, Form::vector, Form::vector, Form::vector, Form::vector));
}

TEST(Forms, EveryTokenMayHaveScores) {
  Model model({1, 6, 1}, 9);
  model.embedding("e", {9, 4}).token_linear("head", {.outputs = 9});
  EXPECT_EQ(form_of_scores(model), Form::sequence);
}

}  // namespace
}  // namespace steelyard::forms_test
