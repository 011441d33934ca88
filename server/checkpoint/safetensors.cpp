#include "server/checkpoint/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "core/check.h"
#include "core/error.h"

namespace steelyard {
namespace {

using nlohmann::json;
static_assert(std::endian::native == std::endian::little, "values are copied as they lie in the file");

constexpr std::uint64_t longest_header = 100'000'000;  // bytes, of the JSON
constexpr std::size_t alignment = 64;                  // bytes
constexpr const char* texts_key = "__metadata__";

struct BadHeader {
  std::string why;
};

struct Entry {
  std::string name, type;
  std::vector<std::uint64_t> shape, offsets;
  bool has_shape = false;  // a scalar has an empty one
};

// A SAX reader of the header. nlohmann::json's own would keep the last of two equal keys and accept any
// depth; this one accepts nothing deeper than {"tensor": {"shape": [1]}}, and no key twice.
class HeaderReader : public json::json_sax_t {
 public:
  std::vector<Entry> entries;
  TensorTexts texts;

  bool key(std::string& name) override {
    if (depth_ == 1) {
      if (!names_.insert(name).second) throw BadHeader{"\"" + name + "\" appears twice"};
      in_texts_ = name == texts_key;
      if (!in_texts_) entries.push_back({name, {}, {}, {}, false});
      return true;
    }
    if (!fields_.insert(name).second) throw BadHeader{"\"" + name + "\" appears twice in one entry"};
    field_ = name;
    return true;
  }
  bool start_object(std::size_t) override {
    if (depth_ >= 2 || in_array_) throw BadHeader{"an unexpected object"};
    ++depth_;
    fields_.clear();
    return true;
  }
  bool end_object() override {
    if (depth_-- == 2 && !in_texts_) demand_complete(entries.back());
    return true;
  }
  bool start_array(std::size_t) override {
    if (depth_ != 2 || in_texts_ || in_array_) throw BadHeader{"an unexpected list"};
    if (field_ == "shape") {
      entries.back().has_shape = true;
    } else if (field_ != "data_offsets") {
      throw BadHeader{"\"" + field_ + "\" of \"" + entries.back().name + "\" is a list"};
    }
    in_array_ = true;
    return true;
  }
  bool end_array() override {
    in_array_ = false;
    return true;
  }
  bool string(std::string& value) override {
    if (depth_ == 2 && in_texts_) {
      texts[field_] = value;
    } else if (depth_ == 2 && !in_array_ && field_ == "dtype") {
      entries.back().type = value;
    } else {
      throw BadHeader{"an unexpected text"};
    }
    return true;
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (!in_array_) throw BadHeader{"an unexpected number"};
    (field_ == "shape" ? entries.back().shape : entries.back().offsets).push_back(value);
    return true;
  }
  bool number_integer(number_integer_t) override { throw BadHeader{"a negative number"}; }
  bool number_float(number_float_t, const std::string& text) override {
    throw BadHeader{"the number " + text + ", which is not whole or too large"};
  }
  bool null() override { throw BadHeader{"a null"}; }
  bool boolean(bool) override { throw BadHeader{"a true or false"}; }
  bool binary(json::binary_t&) override { throw BadHeader{"binary data"}; }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    throw BadHeader{"it is not JSON at byte " + std::to_string(position)};
  }

 private:
  static void demand_complete(const Entry& entry) {
    const std::string who = "\"" + entry.name + "\" ";
    if (entry.type != "F32") {
      throw BadHeader{who + "has values of type \"" + entry.type + "\", and only F32 is read"};
    }
    if (!entry.has_shape || entry.offsets.size() != 2)
      throw BadHeader{who + "has no shape or no data_offsets"};
  }

  int depth_ = 0;
  bool in_array_ = false, in_texts_ = false;
  std::string field_;
  std::set<std::string> names_, fields_;  // seen at depth 1 and 2
};

// Bytes of a tensor of this shape.
std::uint64_t byte_count(const Entry& entry) {
  std::uint64_t bytes = sizeof(float);
  for (const std::uint64_t extent : entry.shape) {
    if (extent != 0 && bytes > std::numeric_limits<std::uint64_t>::max() / extent) {
      throw BadHeader{"the shape of \"" + entry.name + "\" is too large"};
    }
    bytes *= extent;
  }
  return bytes;
}

// In the order of their values, each tensor must begin where the preceding one ends.
std::vector<StoredTensor> place(std::vector<Entry> entries, std::span<const std::byte> values) {
  std::ranges::stable_sort(entries, {}, [](const Entry& e) { return e.offsets; });
  std::vector<StoredTensor> tensors;
  std::uint64_t expected = 0;
  for (Entry& entry : entries) {
    const std::uint64_t begin = entry.offsets[0], end = entry.offsets[1];
    const std::string who = "\"" + entry.name + "\" ";
    if (begin != expected) throw BadHeader{who + (begin < expected ? "overlaps another" : "follows a hole")};
    if (end < begin || end > values.size()) throw BadHeader{who + "exceeds the end of the file"};
    if (end - begin != byte_count(entry)) throw BadHeader{who + "does not have the size of its shape"};
    tensors.push_back({std::move(entry.name), std::move(entry.shape), values.subspan(begin, end - begin)});
    expected = end;
  }
  if (expected != values.size()) {
    throw BadHeader{std::to_string(values.size() - expected) + " bytes at the end belong to no tensor"};
  }
  return tensors;
}

TensorFile parse(std::span<const std::byte> file) {
  std::uint64_t length = 0;
  if (file.size() < sizeof length) throw BadHeader{"it ends within the length of the header"};
  std::memcpy(&length, file.data(), sizeof length);
  file = file.subspan(sizeof length);
  if (length > longest_header) throw BadHeader{"a header of " + std::to_string(length) + " bytes"};
  if (length > file.size()) throw BadHeader{"it ends within the header"};
  const auto* text = reinterpret_cast<const char*>(file.data());
  if (length == 0 || *text != '{') throw BadHeader{"the header does not begin with {"};

  HeaderReader reader;
  json::sax_parse(text, text + length, &reader);
  return {place(std::move(reader.entries), file.subspan(length)), std::move(reader.texts)};
}

}  // namespace

std::string safetensors_header(const std::vector<TensorName>& tensors, const TensorTexts& texts) {
  // An ordered object, so that readers find the tensors in the order of their values.
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!texts.empty()) header[texts_key] = texts;
  std::uint64_t end = 0;
  std::set<std::string> seen{texts_key};
  for (const auto& [name, shape] : tensors) {
    CHECK(seen.insert(name).second, "two tensors of one name");
    const std::uint64_t begin = end;
    end += byte_count({name, {}, shape, {}, true});
    header[name] = {{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {begin, end}}};
  }
  std::string text = header.dump();
  std::uint64_t length = text.size();
  length += (alignment - (length + sizeof length) % alignment) % alignment;
  text.resize(length, ' ');
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + text;
}

void StoredTensor::copy_to(std::span<float> values) const {
  CHECK(values.size() == size(), "a tensor is copied to as many floats as it has");
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
}

const StoredTensor* TensorFile::find(const std::string& name) const {
  const auto found = std::ranges::find(tensors, name, &StoredTensor::name);
  return found == tensors.end() ? nullptr : &*found;
}

TensorFile parse_safetensors(std::span<const std::byte> file, const std::string& path) {
  try {
    return parse(file);
  } catch (const BadHeader& damage) {
    throw Failure(ExitCode::io, path + ": not a good safetensors file: " + damage.why +
                                    "; get it again, or give another file");
  }
}

}  // namespace steelyard
