// Processing of samples (include/steelyard/data_set.h) common to all data sets: reading with checks, and
// conversion of text labels to classes.
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

// ClassNames: converts the text labels of a file to classes, in the order of their values if all are numbers
// (-1 and 1 become 0 and 1), otherwise in alphabetical order.
class ClassNames {
 public:
  // Takes the labels of the training set, in any order, with repetitions.
  explicit ClassNames(const std::vector<std::string>& labels);

  [[nodiscard]] std::optional<std::uint32_t> find(const std::string& label) const;
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(names_.size()); }
  // By class; of a number that is written in several ways, the first.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

 private:
  bool numbers_ = false;
  std::vector<std::string> names_;
  std::map<double, std::uint32_t> by_number_;
  std::map<std::string, std::uint32_t> by_text_;
};

// Parses all of the text, which may begin with '+', as a finite number; std::nullopt otherwise.
std::optional<double> finite_number(std::string_view text);

// Reads one sample; `targets` has room for its targets. Any exception, a label not below classes(), or a
// target that is not finite becomes a Failure that begins with the sample's place: "data set 'rings',
// training sample 17".
void read_sample(const DataSet& data, std::uint64_t index, float* into, std::uint32_t* labels, float* targets,
                 const std::function<std::string()>& place);

}  // namespace steelyard
