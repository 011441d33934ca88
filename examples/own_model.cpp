// A model and a data set of your own, trained by a whole cluster.
//
// The data: points in a square; the three classes are rings around the center. The model: a small perceptron.
// steelyard::run gives this program all commands and roles of `steelyard`, so `train` starts the cluster:
//
//   own_model train examples/jobs/own_model.toml
//
// After a second or two it ends with
//
//   finished
//     test accuracy       99.02 %   (best 99.18 %, round 1800)
//     ...
//
// To build it elsewhere: find_package(steelyard), then link steelyard::cli; tests/package/project does so.
#include <memory>

#include <steelyard/data_set.h>
#include <steelyard/run.h>

namespace {

using steelyard::hash;
using steelyard::Options;
using steelyard::unit;

// Samples are computed when they are read, as a pure function of the index, so all workers see the same data.
class Rings : public steelyard::DataSet {
 public:
  Rings(std::uint64_t size, std::uint64_t seed) : size_(size), seed_(seed) {}

  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] steelyard::nn::Shape shape() const override { return {1, 1, 2}; }
  [[nodiscard]] std::uint32_t classes() const override { return 3; }

  void read(std::uint64_t index, float* into, std::uint32_t* labels) const override {
    const double x = 2 * unit(hash(seed_, index, 0)) - 1;
    const double y = 2 * unit(hash(seed_, index, 1)) - 1;
    const double square = x * x + y * y;
    into[0] = static_cast<float>(x);
    into[1] = static_cast<float>(y);
    labels[0] = square < 0.25 ? 0 : square < 0.7 ? 1 : 2;
  }

 private:
  std::uint64_t size_, seed_;
};

// The job may set the options that main() declares, such as [data] samples = 20000.
steelyard::DataSets rings(const Options& options) {
  const std::uint64_t size = options.whole("samples");
  return {.train = std::make_shared<Rings>(size, 1), .test = std::make_shared<Rings>(size / 10, 2)};
}

// Likewise [model] width = 64.
steelyard::nn::Model perceptron(steelyard::nn::Shape input, std::uint32_t classes, const Options& options) {
  const auto width = static_cast<std::uint32_t>(options.whole("width"));
  return steelyard::nn::Model(input, classes)
      .linear("hidden1", width)
      .relu()
      .linear("hidden2", width)
      .relu()
      .linear("out", classes);
}

}  // namespace

// Options declared here are checked like all keys of a job file, and shown by `own_model help model`.
int main(int argc, char** argv) {
  using steelyard::whole_option;
  return steelyard::run(argc, argv,
                        {.models = {{"perceptron",
                                     perceptron,
                                     "two hidden layers with ReLU",
                                     {whole_option("width", 32, 1, 4096, "units in each of them")}}},
                         .data_sets = {{"rings",
                                        rings,
                                        "points in a square; the three classes are rings around the center",
                                        {whole_option("samples", 50000, 10, 1'000'000,
                                                      "training samples; a tenth as many test samples")}}}});
}
