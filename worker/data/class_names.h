// ClassNames: labels of a text file, as texts, turned into classes. If all are numbers, the lowest is class 0
// and so on (-1 and 1 become 0 and 1); otherwise they count in the order of the alphabet.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace steelyard {

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

}  // namespace steelyard
