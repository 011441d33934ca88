// Attention of one sample, head by head; see kernels.h. With q, k, v of a head as matrices of
// tokens x length, P the probabilities and g the gradient of the output:
//
//   P = softmax(q k^T scale)       output = P v
//   dv = P^T g     dS = P * (g v^T - row sums of P * (g v^T)) * scale     dq = dS k     dk = dS^T q
//
// All products use one kernel that holds a tile of the result in registers. Its right factor must have rows
// of whole vectors: k and v are transposed into scratch for the products over features, and other rows are
// copied there if their length is not a multiple of the vector. If causal, tiles without visible keys are
// skipped, and rows are zero behind their visible part.
#include "nn/cpu/kernels.h"
#include "nn/cpu/small_product.h"

namespace steelyard::nn::STEELYARD_LEVEL {
namespace {

using namespace direct::STEELYARD_LEVEL;  // NOLINT: the vector of this level

// The features of one head, in a buffer that extends to `end`.
template <class Float>
struct Features {
  Float* data;
  Index row;
  Float* end;
};
constexpr Index padded(Index size) { return (size + width - 1) / width * width; }

// Calls body(column, number of valid lanes) for the vectors of a row.
template <class Body>
[[gnu::always_inline]] inline void each_vector(Index seen, Body body) {
  Index j = 0;
  for (; j + width <= seen; j += width) body(j, Index{width});
  if (j < seen) body(j, seen - j);
}
[[gnu::always_inline]] inline Vector first(Index count, Vector value, Vector rest) {
  return count == width ? value : lane < static_cast<int>(count) ? value : rest;
}
void clear(float* row, Index begin, Index end) {
  for (Index j = padded(begin); j < end; j += width) store(row + j, Vector{});
}

void softmax(float* row, Index seen, Index end, float scale) {
  Vector max = broadcast(row[0]);
  each_vector(seen, [&](Index j, Index count) {
    const Vector value = first(count, load(row + j), max);
    max = value > max ? value : max;
  });
  const Vector top = greatest_of(max);
  Vector sum = {};
  each_vector(seen, [&](Index j, Index count) {
    const Vector value = first(count, exponential((load(row + j) - top) * scale), Vector{});
    sum += value;
    store(row + j, value);
  });
  const Vector share = 1.0F / sum_of(sum);
  each_vector(seen, [&](Index j, Index) { store(row + j, load(row + j) * share); });
  clear(row, seen, end);
}

// Replaces the gradient of the probabilities by that of the scores.
void softmax_backward(const float* row, float* d_row, Index seen, Index end, float scale) {
  Vector dots = {};
  each_vector(seen,
              [&](Index j, Index count) { dots += first(count, load(row + j) * load(d_row + j), Vector{}); });
  const Vector mean = sum_of(dots);
  each_vector(seen, [&](Index j, Index count) {
    store(d_row + j, first(count, load(row + j) * (load(d_row + j) - mean) * scale, Vector{}));
  });
  clear(d_row, seen, end);
}

// One head of one sample.
class Head {
 public:
  Head(const AttentionShape& shape, const float* input, Index head, float* scratch)
      : tokens_(static_cast<Index>(shape.tokens)),
        length_(static_cast<Index>(shape.length)),
        row_(3 * static_cast<Index>(shape.heads) * length_),
        across_(padded(tokens_)),
        causal_(shape.causal),
        scale_(shape.scale),
        q_(input + head * length_),
        k_(q_ + row_ / 3),
        v_(k_ + row_ / 3),
        end_(input + tokens_ * row_),
        probabilities_(scratch),
        d_scores_(probabilities_ + tokens_ * across_),
        turned_(d_scores_ + tokens_ * across_),
        rows_(turned_ + length_ * across_),
        result_(rows_ + tokens_ * padded(length_)) {}

  void forward(Features<float> output) {
    find_probabilities();
    to_features({probabilities_, across_, 1}, {v_, row_, end_}, false, output);
  }

  void backward(Features<const float> d_output, bool add, Features<float> d_q) {
    find_probabilities();
    turn(v_);
    multiply_turned({d_output.data, d_output.row, 1}, d_scores_);
    for (Index i = 0; i < tokens_; ++i) {
      softmax_backward(probabilities_ + i * across_, d_scores_ + i * across_, seen(i), across_, scale_);
    }
    const Features<float> d_k{d_q.data + row_ / 3, row_, d_q.end}, d_v{d_k.data + row_ / 3, row_, d_q.end};
    to_features({d_scores_, across_, 1}, {k_, row_, end_}, add, d_q);
    to_features({d_scores_, 1, across_}, {q_, row_, end_}, add, d_k);
    to_features({probabilities_, 1, across_}, d_output, add, d_v);
  }

 private:
  // The number of tokens visible to token `i`.
  [[nodiscard]] Index seen(Index i) const { return causal_ ? i + 1 : tokens_; }

  // to = a b^T, over features, where b was passed to turn().
  void multiply_turned(Left a, float* to) {
    multiply(tokens_, across_, a, {turned_, across_}, {to, across_}, [this](Index first, Index rows) {
      return Need{0, length_, seen(first + rows - 1)};
    });
  }

  void find_probabilities() {
    turn(k_);
    multiply_turned({q_, row_, 1}, probabilities_);
    for (Index i = 0; i < tokens_; ++i) softmax(probabilities_ + i * across_, seen(i), across_, scale_);
  }

  // turned_[feature][token] = from[token][feature], for keys or values.
  void turn(const float* from) {
    for (Index t = 0; t < across_; t += width) {
      for (Index f = 0; f < length_; f += width) {
        Vector square[width];
#pragma GCC unroll 16
        for (int i = 0; i < width; ++i) {
          const float* row = from + (t + i) * row_ + f;
          square[i] = t + i < tokens_ ? load_some(row, length_ - f, end_) : Vector{};
        }
        turn_square(square);
#pragma GCC unroll 16
        for (int i = 0; i < width; ++i) {
          if (f + i < length_) store(turned_ + (f + i) * across_ + t, square[i]);
        }
      }
    }
  }

  // to = by from, tokens x length, or += with `add`. `by` is one of the square matrices or its transpose.
  void to_features(Left by, Features<const float> from, bool add, Features<float> to) {
    const bool is_whole = length_ % width == 0, is_turned = by.row == 1, at_once = is_whole && !add;
    const Index columns = padded(length_);
    if (!is_whole) {
      for (Index t = 0; t < tokens_; ++t) {
        each_vector(length_, [&](Index f, Index count) {
          store(rows_ + t * columns + f, load_some(from.data + t * from.row + f, count, from.end));
        });
      }
    }
    multiply(tokens_, columns, by, is_whole ? Right{from.data, from.row} : Right{rows_, columns},
             at_once ? Result{to.data, to.row} : Result{result_, columns}, [&](Index first, Index rows) {
               return Need{is_turned && causal_ ? first : 0, is_turned ? tokens_ : seen(first + rows - 1),
                           columns};
             });
    if (at_once) return;
    for (Index t = 0; t < tokens_; ++t) {
      each_vector(length_, [&](Index f, Index count) {
        float* there = to.data + t * to.row + f;
        const Vector value = load(result_ + t * columns + f);
        store_some(there, count, add ? value + load_some(there, count, to.end) : value, to.end);
      });
    }
  }

  Index tokens_, length_, row_;  // row_: floats of a token of the input
  Index across_;                 // floats per row of scores
  bool causal_;
  float scale_;
  const float *q_, *k_, *v_, *end_;
  float *probabilities_, *d_scores_, *turned_, *rows_, *result_;  // scratch
};

void forward(const AttentionShape& shape, const float* input, float* output, float* scratch) {
  const auto row = static_cast<Index>(shape.heads * shape.length),
             all = static_cast<Index>(shape.tokens) * row;
  for (std::size_t head = 0; head < shape.heads; ++head) {
    Head(shape, input, static_cast<Index>(head), scratch)
        .forward({output + head * shape.length, row, output + all});
  }
}

void backward(const AttentionShape& shape, const float* input, const float* d_output, bool add,
              float* d_input, float* scratch) {
  const auto row = static_cast<Index>(shape.heads * shape.length),
             all = static_cast<Index>(shape.tokens) * row;
  for (std::size_t head = 0; head < shape.heads; ++head) {
    const std::size_t first = head * shape.length;
    Head(shape, input, static_cast<Index>(head), scratch)
        .backward({d_output + first, row, d_output + all}, add,
                  {d_input + first, 3 * row, d_input + 3 * all});
  }
}

}  // namespace

const AttentionTable attention = {forward, backward};

}  // namespace steelyard::nn::STEELYARD_LEVEL
