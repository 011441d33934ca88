#include "app/export/torch_state.h"

#include <zlib.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace steelyard {
namespace {

std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * i);
  return text;
}

// A pickle of protocol 2 (Lib/pickletools.py of Python describes the codes): what torch.save() writes for a
// dict of tensors. Each tensor is a call of torch._utils._rebuild_tensor_v2(storage, offset, size, stride,
// requires_grad, hooks); the number of a storage names its file.
class StatePickle {
 public:
  StatePickle() : bytes_("\x80\x02}(") {}

  void add(const nn::Tensor& tensor, std::size_t storage) {
    text(tensor.spec.name);
    global("torch._utils", "_rebuild_tensor_v2");
    bytes_ += "((";
    text("storage");
    global("torch", "FloatStorage");
    text(std::to_string(storage));
    text("cpu");
    number(tensor.size);
    bytes_ += "tQ";  // a tuple, which names a persistent object
    number(0);
    std::vector<std::uint64_t> strides(tensor.spec.shape.size(), 1);
    for (std::size_t i = strides.size(); i-- > 1;) strides[i - 1] = strides[i] * tensor.spec.shape[i];
    numbers(tensor.spec.shape);
    numbers(strides);
    bytes_ += '\x89';  // False
    global("collections", "OrderedDict");
    bytes_ += ")RtR";  // its call without arguments, the end of the arguments, the call
  }

  [[nodiscard]] std::string finished() const { return bytes_ + "u."; }  // sets all items

 private:
  void text(std::string_view value) {
    bytes_.append("X").append(little_endian(value.size(), 4)).append(value);
  }
  void global(std::string_view module, std::string_view name) {
    bytes_.append("c").append(module).append("\n").append(name).append("\n");
  }
  void number(std::uint64_t value) {
    if (value < std::uint64_t{1} << 31) {
      bytes_ += "J" + little_endian(value, 4);
    } else {
      bytes_ += "\x8a\x09" + little_endian(value, 9);  // a ninth byte keeps the sign positive
    }
  }
  void numbers(const std::vector<std::uint64_t>& values) {
    bytes_ += '(';
    for (const std::uint64_t value : values) number(value);
    bytes_ += 't';
  }

  std::string bytes_;
};

// A ZIP archive with stored entries (APPNOTE.TXT of PKWARE). The contents of each begin at a multiple of 64
// bytes, as in the archives of torch.save(), so that they can be mapped.
class StoredZip {
 public:
  void add(const std::string& name, std::string_view contents) {
    constexpr std::size_t header = 30, extra = 4, alignment = 64;
    const std::size_t start = bytes_.size();
    const std::size_t before = start + header + name.size() + extra;
    const std::size_t padding = (alignment - before % alignment) % alignment;
    const std::string about = description(contents, name);
    bytes_ += "PK\x03\x04" + about + little_endian(extra + padding, 2) + name;
    bytes_ += "FB" + little_endian(padding, 2) + std::string(padding, 'Z');
    bytes_ += contents;
    directory_ +=
        "PK\x01\x02" + little_endian(0, 2) + about + little_endian(0, 12) + little_endian(start, 4) + name;
    ++entries_;
  }

  [[nodiscard]] std::string finished() const {
    if (bytes_.size() + directory_.size() > UINT32_MAX || entries_ >= UINT16_MAX) {
      refuse_setup("the model takes " + std::to_string(bytes_.size() >> 20) + " MiB in " +
                   std::to_string(entries_) +
                   " tensors, and this file holds 4096 MiB and 65,000 tensors: use model.safetensors of the "
                   "checkpoint");
    }
    return bytes_ + directory_ + "PK\x05\x06" + little_endian(0, 4) + little_endian(entries_, 2) +
           little_endian(entries_, 2) + little_endian(directory_.size(), 4) +
           little_endian(bytes_.size(), 4) + little_endian(0, 2);
  }

 private:
  // The fields that header and directory have in common: version 2.0, no flags, stored, no time, checksum,
  // both sizes, length of the name.
  static std::string description(std::string_view contents, const std::string& name) {
    const auto* bytes = reinterpret_cast<const Bytef*>(contents.data());
    const std::uint64_t sum = crc32_z(0, bytes, contents.size()), size = contents.size();
    return little_endian(20, 2) + little_endian(0, 2 + 2 + 4) + little_endian(sum, 4) +
           little_endian(size, 4) + little_endian(size, 4) + little_endian(name.size(), 2);
  }

  std::string bytes_, directory_;
  std::size_t entries_ = 0;
};

}  // namespace

std::string torch_state_file(const ExportedModel& exported) {
  static_assert(std::endian::native == std::endian::little);
  const std::vector<nn::Tensor>& tensors = exported.model.tensors();
  StatePickle pickle;
  for (std::size_t i = 0; i < tensors.size(); ++i) pickle.add(tensors[i], i);
  StoredZip zip;
  zip.add("archive/data.pkl", pickle.finished());
  zip.add("archive/byteorder", "little");
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::span<const float> values = exported.values(tensors[i]);
    zip.add("archive/data/" + std::to_string(i),
            {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  }
  zip.add("archive/version", "3\n");
  return zip.finished();
}

}  // namespace steelyard
