// Pictures with stripes along (class 0) or across (class 1): the smallest thing that there is to learn.
#include "worker/data/data_sets.h"

namespace steelyard {
namespace {

class Stripes final : public DataSet {
 public:
  explicit Stripes(std::uint64_t samples) : samples_(samples) {}
  [[nodiscard]] nn::Shape shape() const override { return {8, 8, 1}; }
  [[nodiscard]] std::uint32_t classes() const override { return 2; }
  [[nodiscard]] std::uint64_t size() const override { return samples_; }
  void read(std::uint64_t index, float* into, std::uint32_t* labels) const override {
    *labels = static_cast<std::uint32_t>(index % 2);
    for (std::uint32_t i = 0; i < 64; ++i) into[i] = (*labels == 0 ? i : i / 8) % 2 == 0 ? 1.0F : -1.0F;
  }

 private:
  std::uint64_t samples_;
};

}  // namespace

DataTable stripes_rows() {
  return {{"stripes",
           [](const Options& options) {
             const std::uint64_t samples = options.whole("samples");
             return DataSets{std::make_shared<const Stripes>(samples), std::make_shared<const Stripes>(16)};
           },
           "pictures with stripes along or across",
           {whole_option("samples", 1000, 2, 1'000'000, "to train on")}}};
}

}  // namespace steelyard
