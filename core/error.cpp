#include "core/error.h"

#include <algorithm>
#include <numeric>

namespace steelyard {
namespace {

char folded(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  return c == '_' ? '-' : c;
}

}  // namespace

void refuse_setup(const std::string& what) { throw Failure(ExitCode::configuration, what); }
void refuse_usage(const std::string& what) { throw Failure(ExitCode::usage, what); }

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Rows of the table of distances between the first i letters of a and the first j letters of b.
  std::vector<std::size_t> before, last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const char x = folded(a[i - 1]), y = folded(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (x == y ? 0 : 1)});
      if (i > 1 && j > 1 && x == folded(b[j - 2]) && y == folded(a[i - 2])) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before = last;
    last = row;
  }
  return last.back();
}

std::string near_match(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t least = SIZE_MAX;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    const std::size_t allowed = std::max<std::size_t>(1, std::max(word.size(), candidate.size()) / 3);
    if (distance <= allowed && distance < least) {
      best = candidate;
      least = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string near = near_match(word, candidates);
  return near.empty() ? "" : "; did you mean \"" + near + "\"?";
}

std::string among(std::string_view word, const std::vector<std::string>& known) {
  return did_you_mean(word, known) + " (valid: " + joined(known) + ")";
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace steelyard
