// The program with a user's models and data that fail as the options request.
#include <memory>
#include <stdexcept>

#include <steelyard/run.h>

namespace {

using steelyard::Options;

constexpr std::uint64_t samples = 1000, spoilt = 301;

class Spoilt : public steelyard::DataSet {
 public:
  explicit Spoilt(std::string how) : how_(std::move(how)) {}
  [[nodiscard]] std::uint64_t size() const override { return samples; }
  [[nodiscard]] steelyard::nn::Shape shape() const override { return {1, 1, 2}; }
  [[nodiscard]] std::uint32_t classes() const override { return 3; }
  void read(std::uint64_t index, float* into, std::uint32_t* labels) const override {
    into[0] = into[1] = static_cast<float>(index % 7);
    *labels = static_cast<std::uint32_t>(index % 3);
    if (index != spoilt) return;
    if (how_ == "label") *labels = 3;
    if (how_ == "throw") throw std::runtime_error("the table is gone");
  }

 private:
  const std::string how_;
};

steelyard::DataSets data(const Options& options) {
  if (options.text("how") == "prepare") throw std::runtime_error("no such table");
  const auto set = std::make_shared<Spoilt>(options.text("how"));
  return {.train = set, .test = set};
}

steelyard::nn::Model wide(steelyard::nn::Shape input, std::uint32_t classes, const Options& options) {
  return steelyard::nn::Model(input, classes)
      .linear("a", static_cast<std::uint32_t>(options.whole("width")))
      .linear("b", static_cast<std::uint32_t>(options.whole("width")))
      .linear("c", classes);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace steelyard;
  return run(argc, argv,
             {.models = {{"wide", wide, "", {whole_option("width", 8, 1, 10'000'000, "")}}},
              .data_sets = {
                  {"spoilt", data, "", {word_option("how", "label", {"label", "throw", "prepare"}, "")}}}});
}
