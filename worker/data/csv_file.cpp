#include "worker/data/csv_file.h"

#include <algorithm>

#include "core/error.h"

namespace steelyard {
namespace {

char separator_in(std::string_view text) {
  constexpr std::string_view candidates = "\t;|,";
  std::size_t counts[candidates.size()] = {};
  bool quoted = false, begun = false;
  for (const char c : text) {
    const bool line_end = c == '\n' || c == '\r';
    if (line_end && begun && !quoted) break;
    begun = begun || !line_end;
    if (c == '"') quoted = !quoted;
    if (const std::size_t it = candidates.find(c); !quoted && it < candidates.size()) ++counts[it];
  }
  const auto most = std::ranges::max_element(counts);
  return *most == 0 ? ',' : candidates[static_cast<std::size_t>(most - counts)];
}

// Reads one file, field by field.
class CsvReader {
 public:
  CsvReader(const FileBytes& file, char separator)
      : file_(file), text_(text_in(file)), separator_(separator == 0 ? separator_in(text_) : separator) {}

  [[nodiscard]] bool at_end() const { return at_ >= text_.size(); }
  [[nodiscard]] std::uint64_t line() const { return line_; }

  void read_record(std::vector<std::string>& fields) {
    fields.clear();
    do {
      skip_blanks();
      fields.push_back(next_is('"') ? quoted_field() : plain_field());
    } while (take(separator_));
    take('\r');
    if (!at_end() && !next_is('\n')) {
      refuse_line(file_, line_,
                  "a quote, or the end of a line, in the middle of a field: put the whole field in quotes");
    }
    ++at_;
    ++line_;
  }

 private:
  [[nodiscard]] bool next_is(char c) const { return !at_end() && text_[at_] == c; }
  bool take(char c) {
    const bool there = next_is(c);
    at_ += there ? 1 : 0;
    return there;
  }
  void skip_blanks() {
    while (next_is(' ')) ++at_;
  }
  std::string plain_field() {
    const char ends[] = {separator_, '\r', '\n', '"'};
    const std::size_t end = std::min(text_.find_first_of({ends, sizeof ends}, at_), text_.size());
    std::string_view field = text_.substr(at_, end - at_);
    while (field.ends_with(' ')) field.remove_suffix(1);
    at_ = end;
    return std::string(field);
  }
  std::string quoted_field() {
    const std::uint64_t begins = line_;
    std::string field;
    for (++at_;; ++at_) {
      if (at_end()) refuse_line(file_, begins, "a quote is opened and never closed: close it with '\"'");
      if (text_[at_] == '"' && !(at_ + 1 < text_.size() && text_[at_ + 1] == '"')) break;
      if (text_[at_] == '"') ++at_;  // two quotes stand for one
      line_ += text_[at_] == '\n' ? 1 : 0;
      field += text_[at_];
    }
    ++at_;
    skip_blanks();
    return field;
  }

  const FileBytes& file_;
  const std::string_view text_;
  const char separator_;
  std::size_t at_ = 0;
  std::uint64_t line_ = 1;
};

}  // namespace

void refuse_line(const FileBytes& file, std::uint64_t line, const std::string& what) {
  throw Failure(ExitCode::io, file.file.string() + ":" + std::to_string(line) + ": " + what);
}

std::string_view text_in(const FileBytes& file) {
  std::string_view text(reinterpret_cast<const char*>(file.bytes.data()), file.size());
  const std::string_view start = text.substr(0, 64);
  // A text in UTF-8 has no zero bytes; in UTF-16 every ASCII letter has one.
  const bool marked = start.starts_with("\xFF\xFE") || start.starts_with("\xFE\xFF");
  if (marked || start.find('\0') != start.npos) {
    throw Failure(ExitCode::io, file.file.string() + ": it is UTF-16" + (marked ? "" : ", or not a text") +
                                    ": save it as UTF-8 (in Excel: \"CSV UTF-8\")");
  }
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  return text;
}

void read_csv(const FileBytes& file, char separator,
              const std::function<void(std::uint64_t, const std::vector<std::string>&)>& record) {
  CsvReader reader(file, separator);
  std::vector<std::string> fields;
  while (!reader.at_end()) {
    const std::uint64_t line = reader.line();
    reader.read_record(fields);
    if (fields.size() > 1 || !fields[0].empty()) record(line, fields);
  }
}

}  // namespace steelyard
