// Attention in bf16 by a library where there is one, else by our own kernels (attention.cu).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "nn/cuda/context.h"

namespace steelyard::nn::cuda {

// An op, or the reason of a refusal; both are empty under the host executor, which has no library.
struct LibraryAttention {
  std::unique_ptr<Op> op;
  std::string refusal{};  // one line
  // Where the result of choose_attention()'s comparison is kept for all ops of these sizes; null: nowhere.
  std::optional<std::string>* comparison = nullptr;
};

// For a place in bf16. Throws OutOfMemory; every other failure of the library is its refusal.
LibraryAttention make_library_attention(const Attention& op, const OpPlace& place, const Context& context);

// By our kernels, in either storage. implementation() shows the refusal of a library. Throws Failure
// (configuration) for heads of more than 128 features.
std::unique_ptr<Op> make_own_attention(const Attention& op, const OpPlace& place, const Context& context,
                                       const std::string& refusal = {});

// The library's op, if `make_library` gives one and its results are those of our kernels but for rounding:
// both compute random numbers first. Else our own.
using MakeLibraryAttention =
    std::function<LibraryAttention(const Attention& op, const OpPlace& place, const Context& context)>;
std::unique_ptr<Op> choose_attention(const Attention& op, const OpPlace& place, const Context& context,
                                     const MakeLibraryAttention& make_library);

}  // namespace steelyard::nn::cuda
