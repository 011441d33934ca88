// What is done with samples (include/steelyard/data_set.h) whatever data set they come from: read and
// checked, augmented, and the labels of text files turned into classes.
#pragma once

#include <steelyard/data_set.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace steelyard {

// Changes a sample, channels last; `scratch` is as large as the sample, and holds nothing before or after.
void augment(const Augmentation& how, nn::Shape shape, std::uint64_t seed, std::uint64_t epoch,
             std::uint64_t position, float* sample, float* scratch);

// ClassNames: labels of a text file, as texts, turned into classes. If all are numbers, the lowest is class 0
// and so on (-1 and 1 become 0 and 1); otherwise they count in the order of the alphabet.
class ClassNames {
 public:
  // Of the labels of the training set, in any order, repeated or not.
  explicit ClassNames(const std::vector<std::string>& labels);

  [[nodiscard]] std::optional<std::uint32_t> find(const std::string& label) const;
  [[nodiscard]] std::uint32_t size() const { return size_; }

 private:
  bool numbers_ = false;
  std::uint32_t size_ = 0;
  std::map<double, std::uint32_t> by_number_;
  std::map<std::string, std::uint32_t> by_text_;
};

// A finite number that is all of the text, which may begin with '+'; nothing otherwise.
std::optional<double> finite_number(std::string_view text);

// One sample. Whatever reading it throws, and a label of it that is not below classes(), is a Failure that
// begins with its place: "data set 'rings', training sample 17".
void read_sample(const DataSet& data, std::uint64_t index, float* into, std::uint32_t* labels,
                 const std::function<std::string()>& place);

}  // namespace steelyard
