// Finds the numbers of a message through its fields (protocol/fields.h), so that a test can replace them.
#pragma once

#include <array>
#include <limits>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/random.h"
#include "protocol/archive.h"

namespace steelyard::test {

class NumbersIn {
 public:
  template <class Content>
  explicit NumbersIn(Content& content) {
    (*this)(content);
  }

  std::vector<double*> reals;
  std::vector<std::uint64_t*> counts;

  // Called by serialize(), like an archive.
  template <class... Field>
  void operator()(Field&&... field) {
    (visit(field), ...);
  }

 private:
  void visit(double& it) { reals.push_back(&it); }
  void visit(std::uint64_t& it) { counts.push_back(&it); }
  template <class T>
  void visit(std::vector<T>& all) {
    for (T& it : all) visit(it);
  }
  template <class Wrapped>
  requires requires(Wrapped& it) { it.value; }
  void visit(Wrapped& it) { visit(it.value); }
  template <class T>
  requires requires(NumbersIn& self, T& it) { serialize(self, it); }
  void visit(T& it) { serialize(*this, it); }
  template <class T>
  requires requires(NumbersIn& self, T& it) { it.serialize(self); }
  void visit(T& it) { it.serialize(*this); }
  template <class Other>
  void visit(Other&) {}
};

// Replaces one number of the message, if it has any, with an extreme or invalid one.
template <class Receiver>
void spoil_a_number(Receiver& message, Random& random) {
  using Real = std::numeric_limits<double>;
  constexpr std::array reals{Real::quiet_NaN(), Real::infinity(), -Real::infinity(), -0.0, 1e308, -1.0,
                             Real::denorm_min()};
  constexpr std::array<std::uint64_t, 6> counts{0,   1, UINT64_MAX, UINT64_MAX - 1, std::uint64_t{1} << 63,
                                                1000};
  std::visit(
      [&]<class Content>(Content& content) {
        if constexpr (requires(NumbersIn & archive) { content.serialize(archive); }) {
          NumbersIn numbers(content);
          const bool real = !numbers.reals.empty() && (numbers.counts.empty() || random.below(2) == 0);
          if (real) *numbers.reals[random.below(numbers.reals.size())] = reals[random.below(reals.size())];
          if (!real && !numbers.counts.empty())
            *numbers.counts[random.below(numbers.counts.size())] = counts[random.below(counts.size())];
        }
      },
      message);
}

}  // namespace steelyard::test
