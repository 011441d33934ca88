// A block takes the scores of one label, with as many warps as the classes fill. It reads them at most three
// times (maximum, sum of exponentials, gradient), from the cache except for the first; short rows cost no
// more than their launch. One block then sums the rows' results, in double and in one order.
#include "nn/cuda/cuda_loss.h"

#include "nn/cuda/kernel.h"

namespace steelyard::nn::cuda {
namespace {

// The result of a row: its loss, and whether its label was correct.
enum class Answer : std::uint32_t { padding, wrong, correct, no_class };
struct Row {
  float loss;
  Answer answer;
};

struct Question {
  const float* scores;  // of the row
  float* gradient;      // null if not needed
  std::uint32_t classes, label;
  float share;      // weight of the row's loss in its sample's
  float smoothing;  // e of the target
};

__device__ float smallest(float value) { return -block_max(-value); }

// Loss by softmax cross-entropy; `top` is the highest score.
__device__ float softmax_cross_entropy(const Question& q, float top) {
  const float rest = q.smoothing / static_cast<float>(q.classes);
  float exponentials = 0, distances = 0;
  const float own = q.scores[q.label] - top;
  for (std::uint32_t c = threadIdx.x; c < q.classes; c += blockDim.x) {
    const float away = q.scores[c] - top;
    exponentials += expf(away);
    distances += away;
  }
  exponentials = block_sum(exponentials);
  if (rest > 0) distances = block_sum(distances);
  if (q.gradient != nullptr) {
    for (std::uint32_t c = threadIdx.x; c < q.classes; c += blockDim.x) {
      const float target = rest + (c == q.label ? 1 - q.smoothing : 0);
      q.gradient[c] = q.share * (expf(q.scores[c] - top) / exponentials - target);
    }
  }
  const float loss = logf(exponentials) - (1 - q.smoothing) * own;
  return rest > 0 ? loss - rest * distances : loss;
}

// At loss 0 exactly, where the hinge has a kink, the gradient is 0. NaN must not become a loss of 0.
__device__ float hinge(const Question& q) {
  float top = -INFINITY, not_a_number = 0;
  for (std::uint32_t c = threadIdx.x; c < q.classes; c += blockDim.x) {
    const float score = q.scores[c];
    if (c != q.label) top = fmaxf(top, score);
    if (score != score) not_a_number = 1;
  }
  top = block_max(top);
  not_a_number = block_max(not_a_number);
  const float loss = not_a_number > 0 ? NAN : 1 + top - q.scores[q.label];
  if (q.gradient == nullptr) return loss > 0 || loss != loss ? loss : 0;
  // The first rival with this score; class numbers are exact in float.
  float rival = INFINITY;
  for (std::uint32_t c = threadIdx.x; c < q.classes; c += blockDim.x)
    if (c != q.label && q.scores[c] == top) rival = fminf(rival, static_cast<float>(c));
  rival = smallest(rival);
  for (std::uint32_t c = threadIdx.x; c < q.classes; c += blockDim.x) {
    const float slope = c == q.label ? -q.share : (static_cast<float>(c) == rival ? q.share : 0);
    q.gradient[c] = loss > 0 ? slope : 0;
  }
  return loss > 0 || loss != loss ? loss : 0;
}

__global__ void rows(LossOptions options, const BatchNumbers* numbers, const std::uint32_t* labels,
                     const float* scores, float* gradient, Row* to) {
  const std::uint64_t row = blockIdx.x, first = row * options.classes;
  const bool real = row < std::uint64_t{numbers->count} * options.labels;
  const std::uint32_t label = real ? labels[row] : 0;
  Question q{scores + first,
             gradient == nullptr ? nullptr : gradient + first,
             options.classes,
             label,
             1 / static_cast<float>(options.labels),
             static_cast<float>(options.smoothing)};
  if (!real || label >= options.classes) {
    for (std::uint32_t c = threadIdx.x; q.gradient != nullptr && c < q.classes; c += blockDim.x)
      q.gradient[c] = 0;
    if (threadIdx.x == 0) to[row] = {0, real ? Answer::no_class : Answer::padding};
    return;
  }
  // Correct if no score before the label's is as high, and none after it higher.
  const float own = q.scores[label];
  float top = -INFINITY, better = 0;
  for (std::uint32_t c = threadIdx.x; c < q.classes; c += blockDim.x) {
    const float score = q.scores[c];
    top = fmaxf(top, score);
    if (c < label ? !(score < own) : !(score <= own)) better = 1;
  }
  better = block_max(better);
  const float loss = options.kind == Loss::hinge ? hinge(q) : softmax_cross_entropy(q, block_max(top));
  if (threadIdx.x == 0) to[row] = {q.share * loss, better > 0 ? Answer::wrong : Answer::correct};
}

// The loss of one output of a target, and its gradient before the mean over the outputs.
struct OutputLoss {
  float loss, slope;
};
__device__ OutputLoss output_loss(Loss kind, float output, float target) {
  const float away = output - target;
  if (kind == Loss::mean_squared_error) return {away * away, 2 * away};
  // NaN stays NaN.
  if (kind == Loss::mean_absolute_error) return {fabsf(away), away > 0 ? 1.0F : (away < 0 ? -1.0F : away)};
  const float small = expf(-fabsf(output));  // the sigmoid without overflow
  const float probability = (output >= 0 ? 1.0F : small) / (1 + small);
  return {(output < 0 ? 0.0F : output) - output * target + log1pf(small),
          output != output ? output : probability - target};
}

// A block takes one sample.
__global__ void target_rows(LossOptions options, const BatchNumbers* numbers, const float* targets,
                            const float* scores, float* gradient, Row* to) {
  const std::uint64_t row = blockIdx.x, first = row * options.classes;
  const bool real = row < numbers->count;
  const float share = 1 / static_cast<float>(options.classes);
  float loss = 0, missed = 0;
  for (std::uint32_t c = threadIdx.x; c < options.classes; c += blockDim.x) {
    const float output = real ? scores[first + c] : 0, target = real ? targets[first + c] : 0;
    const OutputLoss its = output_loss(options.kind, output, target);
    if (real) loss += its.loss;
    if ((output > 0) != (target > 0.5F)) missed = 1;
    if (gradient != nullptr) gradient[first + c] = real ? share * its.slope : 0;
  }
  loss = block_sum(loss);
  missed = block_max(missed);
  const bool counts = options.kind == Loss::binary_cross_entropy;
  const Answer answer = !real ? Answer::padding : (counts && missed == 0 ? Answer::correct : Answer::wrong);
  if (threadIdx.x == 0) to[row] = {share * loss, answer};
}

constexpr unsigned adders = 256;

__global__ void add_rows(const Row* from, std::uint64_t number, LossSums* to) {
  STEELYARD_SHARED(LossSums, partial, [adders]);
  LossSums own{};
  for (std::uint64_t row = threadIdx.x; row < number; row += adders) {
    own.loss += from[row].loss;
    own.correct += from[row].answer == Answer::correct ? 1 : 0;
    own.no_class += from[row].answer == Answer::no_class ? 1 : 0;
  }
  partial[threadIdx.x] = own;
  __syncthreads();
  if (threadIdx.x != 0) return;
  LossSums all = *to;
  for (unsigned t = 0; t < adders; ++t) {
    all.loss += partial[t].loss;
    all.correct += partial[t].correct;
    all.no_class += partial[t].no_class;
  }
  *to = all;
}

}  // namespace

std::uint64_t loss_workspace(const LossOptions& options, std::uint32_t samples) {
  return std::uint64_t{samples} * options.labels * (sizeof(Row) / sizeof(float));
}

void add_loss(const Context& context, const LossOptions& options, std::uint32_t size, const float* scores,
              float* gradient, LossSums* sums, float* workspace) {
  const std::uint64_t number = std::uint64_t{size} * options.labels;
  const unsigned wanted = groups_of(options.classes, 256), warps = wanted < 8 ? wanted : 8;
  Row* const to = reinterpret_cast<Row*>(workspace);
  if (takes_targets(options.kind)) {
    launch(context.stream, static_cast<unsigned>(number), 32 * warps, &target_rows, options, context.numbers,
           context.targets, scores, gradient, to);
  } else {
    launch(context.stream, static_cast<unsigned>(number), 32 * warps, &rows, options, context.numbers,
           context.labels, scores, gradient, to);
  }
  launch(context.stream, 1, adders, &add_rows, to, number, sums);
}

}  // namespace steelyard::nn::cuda
