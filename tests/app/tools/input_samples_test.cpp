// Files as inputs of a saved model, as the model gets them.
#include "app/tools/input_samples.h"

#include <gmock/gmock.h>

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/temporary_folder.h"
#include "tests/worker/data/data_files.h"

namespace steelyard::input_samples_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FilesAsInputs : public testing::Test {
 protected:
  template <class T>
  InputSamples array(const nn::Model& model, const std::string& type, const std::vector<T>& values) {
    const std::string shape = "(1, " + std::to_string(values.size()) + ")";
    return open(model, "in.npy", npy(type, shape, values));
  }
  InputSamples csv(const nn::Model& model, std::string_view text) {
    return open(model, "in.csv", Bytes(text.begin(), text.end()));
  }
  // The first sample.
  static std::vector<float> values(const InputSamples& input) {
    std::vector<float> read(input.data->shape().size());
    std::vector<std::uint32_t> labels(input.data->labels());
    input.data->read(0, read.data(), labels.data());
    return read;
  }

  static nn::Model made(nn::Shape input, std::uint32_t classes, const std::function<void(nn::Value)>& build) {
    nn::Model model(input, classes);
    build(model.input_value());
    return model;
  }

  void SetUp() override { source.data = "bytes"; }

  SampleSource source;
  const Job job;
  const nn::Model numbers = made({1, 1, 3}, 2, [](nn::Value x) { x.linear("c", 2); });
  const nn::Model tokens = made({1, 3, 1}, 300, [](nn::Value x) {
    x.embedding("e", {.rows = 300, .features = 4}).token_linear("head", {.outputs = 300});
  });

 private:
  InputSamples open(const nn::Model& model, const std::string& name, const Bytes& bytes) {
    return open_input({folder_.write(name, std::span<const std::uint8_t>(bytes))}, false, job, source, model);
  }
  const TemporaryFolder folder_;
};

TEST_F(FilesAsInputs, IntegersArePixels) {
  EXPECT_THAT(values(array<std::int32_t>(numbers, "<i4", {0, 255, 51})), ElementsAre(0, 1, 0.2F));
}

TEST_F(FilesAsInputs, ValuesFarFromThoseOfTheTrainingGetANote) {
  EXPECT_THAT(array<float>(numbers, "<f4", {0, 249, 0}).notes,
              ElementsAre(HasSubstr("249 standard deviations")));
}

TEST_F(FilesAsInputs, TokensKeepTheirNumbers) {
  EXPECT_THAT(values(array<std::int32_t>(tokens, "<i4", {7, 249, 299})), ElementsAre(7, 249, 299));
  EXPECT_THAT(values(csv(tokens, "7,249,299\n")), ElementsAre(7, 249, 299));
}

TEST_F(FilesAsInputs, TokensGetNoNoteAboutTheirMean) {
  EXPECT_THAT(array<float>(tokens, "<f4", {249, 249, 249}).notes, IsEmpty());
}

}  // namespace
}  // namespace steelyard::input_samples_test
