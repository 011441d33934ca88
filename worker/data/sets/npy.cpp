#include "worker/data/sets/npy.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>
#include <string_view>

#include "core/check.h"
#include "core/error.h"
#include "worker/data/data_sets.h"
#include "worker/data/normalization.h"
#include "worker/data/zip.h"

namespace steelyard {
namespace {

constexpr std::uint64_t longest_header = 1 << 16;
constexpr std::uint64_t longest_axis = 1 << 24;
constexpr std::uint32_t most_labels = 1 << 24;

// Parses the dictionary of a header: the subset of Python that NumPy writes.
class HeaderReader {
 public:
  HeaderReader(const FileBytes& file, std::uint64_t begin, std::uint64_t end)
      : file_(file),
        begin_(begin),
        text_(reinterpret_cast<const char*>(file.bytes.data()) + begin, end - begin) {}

  void read(NpyArray& array) {
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!take('}')) {
      const std::string_view key = word();
      expect(':');
      if (key == "descr") {
        read_type(array);
        descr = true;
      } else if (key == "fortran_order") {
        read_order();
        order = true;
      } else if (key == "shape") {
        read_shape(array);
        shape = true;
      } else {
        wrong("descr, fortran_order or shape");
      }
      if (!take(',') && next() != '}') wrong("',' or '}'");
    }
    if (!descr || !order || !shape) wrong("descr, fortran_order and shape");
  }

 private:
  [[noreturn]] void wrong(const std::string& expected) const {
    refuse_byte(file_.file, begin_ + at_, "expected " + expected + " in the header");
  }
  char next() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char wanted) {
    if (next() != wanted) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) {
    if (!take(wanted)) wrong(std::string("'") + wanted + "'");
  }
  std::string_view word() {
    const char quote = next();
    if (quote != '\'' && quote != '"') wrong("a text in quotes");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) wrong("the end of a text");
    const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return inside;
  }

  // "<f4": byte order, kind, bytes.
  void read_type(NpyArray& array) {
    next();
    const std::uint64_t place = begin_ + at_;
    const std::string type(word());
    const std::string_view widths = type.size() != 3                   ? ""
                                    : type[1] == 'f'                   ? "48"
                                    : type[1] == 'b'                   ? "1"
                                    : type[1] == 'i' || type[1] == 'u' ? "1248"
                                                                       : "";
    const bool order = type.size() == 3 && (type[0] == '<' || type[0] == '|' || type[0] == '=');
    if (!order || widths.find(type[2]) == std::string_view::npos) {
      refuse_byte(file_.file, place, "its values are of type '" + type + "'",
                  "save it as little-endian floats or integers, as in array.astype('<f4')");
    }
    array.kind = type[1] == 'b' ? 'u' : type[1];
    array.width = static_cast<std::uint64_t>(type[2] - '0');
  }
  void read_order() {
    next();
    const std::uint64_t place = begin_ + at_;
    if (!text_.substr(at_).starts_with("False")) {
      refuse_byte(file_.file, place, "its values lie column by column",
                  "save it with numpy.ascontiguousarray");
    }
    at_ += 5;
  }
  void read_shape(NpyArray& array) {
    expect('(');
    while (!take(')')) {
      next();
      std::uint64_t size = 0;
      const char* const from = text_.data() + at_;
      const auto [end, error] = std::from_chars(from, text_.data() + text_.size(), size);
      if (error != std::errc() || size == 0 || array.shape.size() == 8) wrong("a size of at least 1");
      array.shape.push_back(size);
      at_ += static_cast<std::size_t>(end - from);
      if (!take(',') && next() != ')') wrong("',' or ')'");
    }
    if (array.shape.empty()) wrong("at least one dimension");
  }

  const FileBytes& file_;
  const std::uint64_t begin_;
  const std::string_view text_;
  std::size_t at_ = 0;
};

bool begins_with(const FileBytes& file, std::string_view text) {
  return std::string_view(reinterpret_cast<const char*>(file.bytes.data()), file.size()).starts_with(text);
}

// The product of the sizes, checked against the file at each step.
void check_size(const NpyArray& array) {
  const std::uint64_t there = array.bytes.size() - array.begin;
  std::uint64_t wanted = array.width;
  for (const std::uint64_t size : array.shape) {
    if (wanted > there / size) {
      refuse_byte(array.bytes.file, array.bytes.size(), "expected more values, found the end of the file");
    }
    wanted *= size;
  }
  if (wanted != there)
    refuse_byte(array.bytes.file, array.begin + wanted, "expected the end of the file, found more bytes");
}

template <class T>
T value_at(const std::uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// Calls `work` with a reader of values of the array's type.
template <class Work>
void with_type(const NpyArray& array, const Work& work) {
  const auto is = [&](char kind, std::uint64_t width) { return array.kind == kind && array.width == width; };
  if (is('f', 4)) return work(value_at<float>);
  if (is('f', 8)) return work(value_at<double>);
  if (is('u', 1)) return work(value_at<std::uint8_t>);
  if (is('u', 2)) return work(value_at<std::uint16_t>);
  if (is('u', 4)) return work(value_at<std::uint32_t>);
  if (is('u', 8)) return work(value_at<std::uint64_t>);
  if (is('i', 1)) return work(value_at<std::int8_t>);
  if (is('i', 2)) return work(value_at<std::int16_t>);
  if (is('i', 4)) return work(value_at<std::int32_t>);
  work(value_at<std::int64_t>);
}

nn::Shape shape_of(const NpyArray& inputs) {
  const std::vector<std::uint64_t>& s = inputs.shape;
  if (s.size() < 2 || s.size() > 4) {
    refuse_byte(inputs.bytes.file, 0, "it has " + std::to_string(s.size()) + " dimensions",
                "give (samples, values), (samples, height, width) or (samples, height, width, channels)");
  }
  for (std::size_t i = 1; i < s.size(); ++i) {
    if (s[i] > longest_axis)
      refuse_byte(inputs.bytes.file, 0, "it has a dimension of " + std::to_string(s[i]), "make it smaller");
  }
  const auto side = [&](std::size_t i) { return static_cast<std::uint32_t>(s[i]); };
  if (s.size() == 2) return {1, 1, side(1)};
  return {side(1), side(2), s.size() == 4 ? side(3) : 1};
}

std::vector<std::uint32_t> labels_of(const NpyArray& labels) {
  if (labels.kind == 'f')
    refuse_byte(labels.bytes.file, 0, "labels of classes are whole numbers, and these are floats",
                "save integers, or give [model] a loss of numbers, as in loss = \"mse\"");
  std::vector<std::uint32_t> result;
  with_type(labels, [&](auto read) {
    for (std::uint64_t at = labels.begin; at < labels.bytes.size(); at += labels.width) {
      const auto value = static_cast<std::int64_t>(read(labels.bytes.bytes.data() + at));
      if (value < 0 || value >= most_labels) {
        refuse_byte(labels.bytes.file, at, "expected a label from 0 to " + std::to_string(most_labels - 1),
                    "correct it");
      }
      result.push_back(static_cast<std::uint32_t>(value));
    }
  });
  return result;
}

Targets targets_of(const NpyArray& array, LabelKind kind) {
  std::vector<float> values;
  with_type(array, [&](auto read) {
    for (std::uint64_t at = array.begin; at < array.bytes.size(); at += array.width) {
      const auto value = static_cast<double>(read(array.bytes.bytes.data() + at));
      const std::string trouble = target_trouble(kind, static_cast<float>(value));
      if (!trouble.empty()) refuse_byte(array.bytes.file, at, "a label " + trouble, "correct it");
      values.push_back(static_cast<float>(value));
    }
  });
  return {std::move(values), static_cast<std::uint32_t>(array.row())};
}

void require_labels_for(const NpyArray& inputs, const NpyArray& labels) {
  if (labels.shape[0] == inputs.shape[0] && labels.shape.size() <= 2) return;
  refuse_byte(labels.bytes.file, 0,
              "expected labels for " + std::to_string(inputs.shape[0]) + " samples, as many as in " +
                  inputs.bytes.file.string() + ", found " + std::to_string(labels.shape[0]),
              "give the two files that belong together");
}

// Opens "file" or "archive.npz:array".
FileBytes open_array(const std::filesystem::path& path) {
  const std::string text = path.string();
  const std::size_t colon = text.find(".npz:");
  const bool named = colon != std::string::npos;
  const std::string name = named ? text.substr(colon + 5) : "";
  const FileBytes whole = open_bytes(named ? text.substr(0, colon + 4) : text);
  if (!named && !begins_with(whole, "PK")) return whole;

  const ZipArchive archive(whole);
  std::vector<std::string> names;
  std::optional<std::size_t> chosen;
  for (std::size_t i = 0; i < archive.names().size(); ++i) {
    const std::string& entry = archive.names()[i];
    if (!entry.ends_with(".npy")) continue;
    names.push_back(entry.substr(0, entry.size() - 4));
    if (name.empty() || name == names.back()) chosen = i;  // the last of this name, as in NumPy
  }
  if (chosen && (names.size() == 1 || !name.empty())) {
    FileBytes array = archive.unpacked(*chosen);
    array.file.replace_extension();
    return array;
  }
  const std::string file = whole.file.string();
  throw Failure(ExitCode::io,
                file + (names.empty()  ? ": there is no array (.npy) in it: give another file"
                        : name.empty() ? ": there are several arrays in it: name one, as in " + file + ":" +
                                             names[0] + " (valid: " + joined(names) + ")"
                                       : ": there is no array '" + name + "' in it" + among(name, names)));
}

}  // namespace

std::uint64_t NpyArray::row() const {
  std::uint64_t values = 1;
  for (std::size_t i = 1; i < shape.size(); ++i) values *= shape[i];
  return values;
}

NpyArray open_npy(const std::filesystem::path& file) {
  NpyArray array{.bytes = open_array(file), .begin = 0, .kind = 'f', .width = 4, .shape = {}};
  const FileBytes& whole = array.bytes;
  if (whole.size() < 12 || !begins_with(whole, "\x93NUMPY"))
    refuse_byte(whole.file, 0, "expected an array of NumPy (.npy)");
  const std::uint8_t version = whole.bytes[6];
  if (version < 1 || version > 3)
    refuse_byte(whole.file, 6, "it has version " + std::to_string(version) + " of the format");
  const std::uint64_t length = version == 1 ? value_at<std::uint16_t>(whole.bytes.data() + 8)
                                            : value_at<std::uint32_t>(whole.bytes.data() + 8);
  const std::uint64_t header = version == 1 ? 10 : 12;
  if (length > longest_header || length > whole.size() - header)
    refuse_byte(whole.file, 8, "its header is truncated");
  array.begin = header + length;
  HeaderReader(whole, header, array.begin).read(array);
  check_size(array);
  return array;
}

NpyDataSet::NpyDataSet(NpyArray inputs, const NpyArray& labels, std::optional<std::uint32_t> classes)
    : inputs_(std::move(inputs)), shape_(shape_of(inputs_)), labels_(labels_of(labels)) {
  require_labels_for(inputs_, labels);
  labels_each_ = static_cast<std::uint32_t>(labels.row());
  const auto highest = std::ranges::max_element(labels_);
  classes_ = classes.value_or(*highest + 1);
  if (*highest < classes_) return;
  const auto at = static_cast<std::uint64_t>(highest - labels_.begin());
  refuse_byte(labels.bytes.file, labels.begin + at * labels.width,
              "expected labels below " + std::to_string(classes_) + ", found " + std::to_string(*highest),
              "correct it");
}

NpyDataSet::NpyDataSet(LabelKind kind, NpyArray inputs, const NpyArray& targets)
    : inputs_(std::move(inputs)), shape_(shape_of(inputs_)) {
  require_labels_for(inputs_, targets);
  if (targets.row() > most_classes)
    refuse_byte(targets.bytes.file, 0, "it has " + std::to_string(targets.row()) + " targets for each sample",
                "give at most " + std::to_string(most_classes));
  targets_ = targets_of(targets, kind);
  classes_ = targets_.each();
}

void NpyDataSet::read(std::uint64_t index, float* into, std::uint32_t* labels) const {
  CHECK(index < size(), "a sample is read that does not exist");
  const std::uint64_t count = shape_.size();
  const std::uint8_t* from = inputs_.bytes.bytes.data() + inputs_.begin + index * count * inputs_.width;
  const std::vector<double>&mean = normalization_.mean, &deviation = normalization_.deviation;
  const std::size_t together = mean.size();  // one for all values, or one for each channel
  with_type(inputs_, [&](auto value) {
    for (std::uint64_t i = 0; i < count; i += together) {
      for (std::size_t channel = 0; channel < together; ++channel, from += inputs_.width) {
        const auto raw = static_cast<double>(value(from));
        into[i + channel] = static_cast<float>((raw - mean[channel]) / deviation[channel]);
      }
    }
  });
  if (!labels_.empty()) std::copy_n(labels_.data() + index * labels_each_, labels_each_, labels);
}

DataSets open_npy_sets(const NpyFiles& files, std::optional<std::uint32_t> classes, bool normalized,
                       const LabelOptions& labels) {
  if (labels.kind != LabelKind::classes) {
    const auto set = [&](const std::filesystem::path& inputs, const std::filesystem::path& targets) {
      return std::make_shared<NpyDataSet>(labels.kind, open_npy(inputs), open_npy(targets));
    };
    const auto train = set(files.train_inputs, files.train_labels),
               test = set(files.test_inputs, files.test_labels);
    DataSets sets = sets_of(train, test, normalized);
    sets.target_scale = scale_targets(train->own_targets(), test->own_targets(), labels);
    return sets;
  }
  auto train =
      std::make_shared<NpyDataSet>(open_npy(files.train_inputs), open_npy(files.train_labels), classes);
  auto test = std::make_shared<NpyDataSet>(open_npy(files.test_inputs), open_npy(files.test_labels),
                                           train->classes());
  return sets_of(train, test, normalized);
}

namespace {

std::vector<Option> npy_options() {
  std::vector<Option> options{
      text_option("train_inputs", "", "a file, or an array of an .npz: mnist.npz:x_train"),
      text_option("train_labels", "", "the same: integers from 0 for classes, or numbers"),
      text_option("test_inputs", "", "the same"),
      text_option("test_labels", "", "the same"),
      whole_option("classes", std::nullopt, 2, most_classes, "default: the highest training label + 1"),
      normalize_option()};
  std::ranges::move(label_options(), std::back_inserter(options));
  return picture_options(std::move(options));
}

}  // namespace

DataTable npy_rows() {
  const auto make = [](const Options& options) {
    const NpyFiles files{given_file(options, "train_inputs"), given_file(options, "train_labels"),
                         given_file(options, "test_inputs"), given_file(options, "test_labels")};
    return with_picture_options(
        open_npy_sets(files, given_classes(options), options.flag("normalize"), label_options_in(options)),
        options);
  };
  return {{"npy", make,
           "arrays of NumPy: inputs (samples, values) or (samples, height, width, channels), and labels",
           npy_options()}};
}

}  // namespace steelyard
