#include "worker/data/sets/byte_text.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "core/check.h"
#include "core/error.h"
#include "worker/data/data_sets.h"

namespace steelyard {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_of(const fs::path& path) {
  std::error_code trouble;
  if (!fs::is_directory(path, trouble)) return {path};
  std::vector<fs::path> files;
  for (fs::recursive_directory_iterator it(path, trouble), end; !trouble && it != end;
       it.increment(trouble)) {
    if (it->is_regular_file(trouble)) files.push_back(it->path());
  }
  if (trouble) throw Failure(ExitCode::io, path.string() + " cannot be listed: " + trouble.message());
  std::ranges::sort(files);
  return files;
}

}  // namespace

ByteText::ByteText(std::vector<FileBytes> files, std::uint64_t begin, std::uint64_t end,
                   std::uint32_t context)
    : files_(std::move(files)), begin_(begin), end_(end), context_(context) {
  CHECK(context > 0 && end - begin > context, "a text shorter than a sample");
  std::uint64_t at = 0;
  for (const FileBytes& file : files_) {
    begins_.push_back(at);
    at += file.size();
  }
}

void ByteText::read(std::uint64_t index, float* into, std::uint32_t* labels) const {
  CHECK(index < size(), "a sample is read that does not exist");
  const std::uint64_t first = begin_ + index * context_;
  auto file = static_cast<std::size_t>(std::ranges::upper_bound(begins_, first) - begins_.begin() - 1);
  std::uint64_t in_file = first - begins_[file];
  for (std::uint32_t i = 0; i <= context_; ++i, ++in_file) {
    if (in_file == files_[file].size()) {
      ++file;
      in_file = 0;
    }
    const std::uint8_t byte = files_[file].bytes[in_file];
    if (i < context_) into[i] = byte;
    if (i > 0) labels[i - 1] = byte;
  }
}

namespace {

// The files that are not empty, and their bytes together.
std::pair<std::vector<FileBytes>, std::uint64_t> text_at(const fs::path& path) {
  std::vector<FileBytes> files;
  std::uint64_t bytes = 0;
  for (const fs::path& file : files_of(path)) {
    FileBytes opened = open_bytes(file);
    if (opened.size() == 0) continue;
    bytes += opened.size();
    files.push_back(std::move(opened));
  }
  return {std::move(files), bytes};
}

[[noreturn]] void refuse_short(const fs::path& path, std::uint64_t bytes, const std::string& part,
                               std::uint32_t context) {
  throw Failure(ExitCode::configuration, path.string() + " has " + std::to_string(bytes) + " bytes, and " +
                                             part + " is no sample of " + std::to_string(context) +
                                             ": give a longer text, or a smaller context");
}

}  // namespace

DataSets open_byte_text(const fs::path& path, std::uint32_t context, const fs::path& test, double holdout) {
  const auto [files, bytes] = text_at(path);
  if (!test.empty()) {
    const auto [test_files, test_bytes] = text_at(test);
    if (bytes <= context) refuse_short(path, bytes, "this", context);
    if (test_bytes <= context) refuse_short(test, test_bytes, "this", context);
    return {std::make_shared<const ByteText>(files, 0, bytes, context),
            std::make_shared<const ByteText>(test_files, 0, test_bytes, context)};
  }
  const auto held_out = static_cast<std::uint64_t>(static_cast<double>(bytes) * holdout);
  if (held_out <= context)
    refuse_short(path, bytes, "its last " + std::to_string(held_out) + ", to test on,", context);
  const std::uint64_t border = bytes - held_out;
  if (border <= context)
    refuse_short(path, bytes, "its first " + std::to_string(border) + ", to train on,", context);
  return {std::make_shared<const ByteText>(files, 0, border, context),
          std::make_shared<const ByteText>(files, border, bytes, context)};
}

DataTable byte_text_rows() {
  const auto make = [](const Options& options) {
    return open_byte_text(given_file(options, "path"), static_cast<std::uint32_t>(options.whole("context")),
                          options.has("test") ? given_file(options, "test") : fs::path(),
                          options.number("holdout"));
  };
  return {{"bytes",
           make,
           "a text as bytes, each predicted from the previous ones",
           {text_option("path", "", "a file, or a folder: its files are read in the order of their names"),
            text_option("test", "", "the same, to test on"),
            number_option("holdout", 0.1, 0, below(1),
                          "without test: this share, the last bytes, is the test set"),
            whole_option("context", 256, 1, 1 << 20, "bytes per sample")}}};
}

}  // namespace steelyard
