// Shuffle, slice and concat as one op: each output channel is a channel of an input.
#include <algorithm>
#include <vector>

#include "nn/op_table.h"

namespace steelyard::nn::reference {
namespace {

struct Source {
  std::size_t input;
  std::uint64_t channel;
};

std::vector<Source> sources_of(const ChannelShuffle& op, const OpPlace& place) {
  const std::uint64_t length = place.output.channels / op.groups;
  std::vector<Source> sources;
  for (std::uint64_t c = 0; c < place.output.channels; ++c) {
    sources.push_back({0, c % op.groups * length + c / op.groups});
  }
  return sources;
}

std::vector<Source> sources_of(const ChannelSlice& op, const OpPlace& /*place*/) {
  std::vector<Source> sources;
  for (std::uint64_t c = op.begin; c < op.end; ++c) sources.push_back({0, c});
  return sources;
}

std::vector<Source> sources_of(const Concat& /*op*/, const OpPlace& place) {
  std::vector<Source> sources;
  for (std::size_t i = 0; i < place.inputs.size(); ++i) {
    for (std::uint64_t c = 0; c < place.inputs[i].channels; ++c) sources.push_back({i, c});
  }
  return sources;
}

class ChannelMoveOp final : public ReferenceOp {
 public:
  template <class Kind>
  ChannelMoveOp(const Kind& op, const OpPlace& place)
      : place_(place), pixels_(pixels_of(place.output)), sources_(sources_of(op, place)) {}

  void forward(const Pass& pass, const Forward& call) override {
    each(pass, [&](std::uint64_t to, const Source& source, std::uint64_t from) {
      call.output[to] = call.inputs[source.input][from];
    });
  }

  void backward(const Pass& pass, const Backward& call) override {
    for (std::size_t i = 0; i < call.d_inputs.size(); ++i) {
      if (call.d_inputs[i].to == nullptr) continue;
      std::fill_n(call.d_inputs[i].to, pass.size() * place_.inputs[i].size(), 0.0F);
    }
    each(pass, [&](std::uint64_t to, const Source& source, std::uint64_t from) {
      float* const gradient = call.d_inputs[source.input].to;
      if (gradient != nullptr) gradient[from] = call.d_output[to];
    });
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false}; }

 private:
  // Calls move(place in the output, source, place in the input).
  template <class Move>
  void each(const Pass& pass, Move move) const {
    for (std::uint64_t p = 0; p < pass.size() * pixels_; ++p) {
      for (std::uint64_t c = 0; c < sources_.size(); ++c) {
        const Source& source = sources_[c];
        move(p * sources_.size() + c, source, p * place_.inputs[source.input].channels + source.channel);
      }
    }
  }

  OpPlace place_;
  std::uint64_t pixels_;
  std::vector<Source> sources_;  // of each output channel
};

}  // namespace

STEELYARD_OP(ChannelShuffle, ChannelMoveOp)
STEELYARD_OP(ChannelSlice, ChannelMoveOp)
STEELYARD_OP(Concat, ChannelMoveOp)

}  // namespace steelyard::nn::reference
