// Shared by all entries: conversion between bytes and text, and whether a reader accepts an input.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace steelyard::fuzz {

inline std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline std::vector<std::byte> input_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// Whether the reader accepts the bytes. A Failure is a refusal; any other exception is a bug.
template <class Reader>
bool accepts(std::span<const std::byte> bytes, const Reader& read) {
  try {
    read(text_of(bytes));
    return true;
  } catch (const Failure&) {
    return false;
  }
}

// Removes the text before the next `end`, and `end` itself, from the front; removes all if there is no `end`.
inline std::string_view taken_until(std::string_view& text, char end) {
  const std::size_t at = text.find(end);
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return taken;
}

}  // namespace steelyard::fuzz
