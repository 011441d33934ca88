#include "worker/data/csv_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>

#include "core/error.h"
#include "core/option_list.h"
#include "core/text.h"
#include "worker/data/csv_file.h"
#include "worker/data/samples.h"

namespace steelyard {
namespace {

using Fields = std::vector<std::string>;

constexpr std::array separators{std::pair{"auto", '\0'}, std::pair{",", ','},    std::pair{";", ';'},
                                std::pair{"|", '|'},     std::pair{"tab", '\t'}, std::pair{"\t", '\t'}};

std::optional<MissingRule> missing_rule(const std::string& text) {
  using Kind = MissingRule::Kind;
  if (text == "refuse") return MissingRule{Kind::refuse};
  if (text == "drop") return MissingRule{Kind::drop};
  if (text == "mean") return MissingRule{Kind::mean};
  const auto number = finite_number(text);
  return number ? std::optional(MissingRule{Kind::number, *number}) : std::nullopt;
}

bool is_missing(std::string_view field) {
  constexpr std::array<std::string_view, 6> words{"na", "n/a", "nan", "null", "none", "?"};
  std::string word(field);
  for (char& c : word) c = 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return word.empty() || std::ranges::find(words, word) != words.end();
}

std::optional<double> number_of(std::string field, char decimal) {
  if (decimal == ',') {
    if (field.find('.') != std::string::npos) return std::nullopt;  // a thousands separator
    std::ranges::replace(field, ',', '.');
  }
  return finite_number(field);
}

// The columns of one file that are used.
struct Chosen {
  std::size_t all = 0;  // columns of the file
  std::vector<std::size_t> inputs{};
  std::vector<std::size_t> labels{};
};

std::optional<std::size_t> column_named(const std::string& name, const Fields& first) {
  const auto found = std::ranges::find(first, name);
  return found == first.end() ? std::nullopt : std::optional<std::size_t>(found - first.begin());
}

class TableReader {
 public:
  TableReader(const FileBytes& file, const CsvFormat& format, const KnownColumns* known)
      : file_(file), format_(format), known_(known) {}

  CsvTable read() {
    read_csv(file_, format_.separator, [&](std::uint64_t line, const Fields& fields) {
      if (chosen_.all == 0) {
        line_ = line;
        begin(fields);
        if (format_.header) return;
      }
      line_ = line;
      add(fields, table_.records++);
    });
    line_ = 1;
    if (table_.lines.empty())
      refuse(table_.records == 0
                 ? "it has no records: give at least one"
                 : "each of its records lacks a value, and missing = \"drop\" leaves these out: give "
                   "missing = \"mean\" or a number");
    return std::move(table_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { refuse_line(file_, line_, what); }

  void begin(const Fields& first) {
    const auto is_number = [&](const std::string& it) { return number_of(it, format_.decimal).has_value(); };
    if (format_.header && known_ == nullptr && std::ranges::all_of(first, is_number))
      refuse(
          "its first line has numbers only: if the file has no header, set header = false; otherwise give "
          "its columns names");
    chosen_ = known_ == nullptr ? chosen_for_training(first) : chosen_like_known(first);
    table_.columns = static_cast<std::uint32_t>(chosen_.inputs.size());
    table_.label_columns = static_cast<std::uint32_t>(chosen_.labels.size());
    if (!format_.header) return;
    for (const std::size_t column : chosen_.inputs) table_.names.push_back(first[column]);
    for (const std::size_t column : chosen_.labels) table_.names.push_back(first[column]);
  }

  [[nodiscard]] std::size_t column(const std::string& name, const Fields& first) const {
    const auto named = format_.header ? column_named(name, first) : std::nullopt;
    if (named) return *named;
    const auto number = number_in<std::size_t>(name);
    if (number && *number >= 1 && *number <= first.size()) return *number - 1;
    refuse("there is no column '" + name + "'" +
           (format_.header ? among(name, first) + ", or its number from 1 on"
                           : ": give its number, from 1 to " + std::to_string(first.size())));
  }
  [[nodiscard]] std::vector<std::size_t> columns(const Fields& names, const Fields& first) const {
    std::vector<std::size_t> all;
    for (const std::string& name : names) all.push_back(column(name, first));
    return all;
  }

  [[nodiscard]] Chosen chosen_for_training(const Fields& first) const {
    if (first.size() < 2) {
      refuse(
          "expected a label and at least one value, found one column: separate columns by commas, "
          "semicolons or tabs, or give the separator, as in separator = \"|\"");
    }
    Chosen it{first.size(), columns(format_.columns, first),
              format_.label.empty() ? std::vector{first.size() - 1} : columns(format_.label, first)};
    if (format_.kind == LabelKind::classes && it.labels.size() > 1)
      refuse(
          "label names " + std::to_string(it.labels.size()) +
          " columns, and a label of classes has one: give one, or a loss of several targets in [model], as "
          "in loss = \"mse\"");
    const std::vector<std::size_t> skipped = columns(format_.skip, first);
    const auto require_no_label = [&](const std::vector<std::size_t>& list, const char* name) {
      const auto found = std::ranges::find_first_of(list, it.labels);
      if (found == list.end()) return;
      refuse("column '" + first[*found] + "' is the label: leave it out of " + name +
             ", or give label = another column");
    };
    require_no_label(it.inputs, "columns");
    require_no_label(skipped, "skip");
    for (std::size_t i = 0; format_.columns.empty() && i < first.size(); ++i) {
      if (std::ranges::find(it.labels, i) == it.labels.end() &&
          std::ranges::find(skipped, i) == skipped.end())
        it.inputs.push_back(i);
    }
    if (it.inputs.empty()) refuse("every column but the label is skipped: leave at least one");
    return it;
  }

  [[nodiscard]] Chosen chosen_like_known(const Fields& first) const {
    const std::string other = "its columns are not those of " + known_->origin + ": ";
    if (!format_.header || known_->names.empty()) {
      if (!known_->needs_label && first.size() == known_->columns) {
        Chosen it{first.size(), std::vector<std::size_t>(first.size())};
        std::iota(it.inputs.begin(), it.inputs.end(), std::size_t{0});
        return it;
      }
      const Chosen it = first.size() < 2 ? Chosen{} : chosen_for_training(first);
      if (it.inputs.size() == known_->columns) return it;
      refuse(other + "expected " + std::to_string(known_->columns) + " inputs" +
             (known_->needs_label ? " and a label" : ", with or without a label") + ", found " +
             std::to_string(first.size()) + " columns: give a file of the same table");
    }
    Chosen it{first.size()};
    for (std::size_t i = 0; i < known_->columns; ++i) {
      const auto found = column_named(known_->names[i], first);
      if (!found)
        refuse(other + "there is no column '" + known_->names[i] + "'" + among(known_->names[i], first) +
               ": give a file of the same table, with its header");
      it.inputs.push_back(*found);
    }
    for (std::size_t i = known_->columns; i < known_->names.size(); ++i) {
      const auto found = column_named(known_->names[i], first);
      if (found) it.labels.push_back(*found);
      if (!found && known_->needs_label)
        refuse(other + "there is no label '" + known_->names[i] + "'" + among(known_->names[i], first));
    }
    if (it.labels.size() < known_->names.size() - known_->columns) it.labels.clear();  // all or none
    return it;
  }

  void add(const Fields& fields, std::uint64_t number) {
    if (fields.size() != chosen_.all) {
      refuse("expected " + std::to_string(chosen_.all) + " columns, as in the first record, found " +
             std::to_string(fields.size()) +
             ": correct it; a field that contains the separator must be in quotes");
    }
    const bool drops = format_.missing.kind == MissingRule::Kind::drop;
    const auto misses = [&](std::size_t column) { return is_missing(fields[column]); };
    const auto no_label = std::ranges::find_if(
        chosen_.labels, [&](std::size_t column) { return needs_label() && lacks_label(fields[column]); });
    const bool lacks = no_label != chosen_.labels.end();
    if (drops && (lacks || std::ranges::any_of(chosen_.inputs, misses))) return;
    if (lacks)
      refuse("column " + std::to_string(*no_label + 1) +
             ", the label, is empty: fill it in, or set missing = \"drop\"");
    for (const std::size_t column : chosen_.inputs) table_.values.push_back(value_of(fields[column], column));
    for (const std::size_t column : chosen_.labels) {
      if (is_class()) table_.labels.push_back(fields[column]);
      if (!is_class()) table_.targets.push_back(target_of(fields[column], column));
    }
    table_.lines.push_back(line_);
    table_.numbers.push_back(number);
  }

  [[nodiscard]] bool is_class() const { return format_.kind == LabelKind::classes; }
  [[nodiscard]] bool needs_label() const { return known_ == nullptr || known_->needs_label; }
  // A class may be called NA.
  [[nodiscard]] bool lacks_label(const std::string& field) const {
    return is_class() ? field.empty() : is_missing(field);
  }

  [[nodiscard]] float target_of(const std::string& field, std::size_t column) const {
    if (is_missing(field)) return std::numeric_limits<float>::quiet_NaN();  // only if no label is needed
    const auto value = number_of(field, format_.decimal);
    const std::string trouble = target_trouble(format_.kind, static_cast<float>(value.value_or(NAN)));
    if (trouble.empty()) return static_cast<float>(*value);
    refuse("column " + std::to_string(column + 1) + ", the label: '" + field.substr(0, 40) + "' " + trouble +
           ": correct it, or, if labels are classes, leave the loss of [model] out");
  }

  [[nodiscard]] float value_of(const std::string& field, std::size_t column) const {
    using Kind = MissingRule::Kind;
    const bool missing = is_missing(field);
    if (missing && format_.missing.kind == Kind::mean) return std::numeric_limits<float>::quiet_NaN();
    if (missing && format_.missing.kind == Kind::number) return static_cast<float>(format_.missing.number);
    if (const auto value = number_of(field, format_.decimal)) return static_cast<float>(*value);
    const std::string number = std::to_string(column + 1);
    const bool comma = format_.decimal == '.' && number_of(field, ',').has_value();
    refuse("column " + number + ": '" + field.substr(0, 40) + "' is not a finite number: " +
           (comma     ? "if its comma is a decimal comma, set decimal = \",\""
            : missing ? "correct it, set missing = \"mean\", \"drop\" or a number, or leave the column out"
                      : "correct it, or leave the column out") +
           (comma ? "" : ", as in skip = [" + number + "]"));
  }

  const FileBytes& file_;
  const CsvFormat& format_;
  const KnownColumns* const known_;  // null: the training set
  Chosen chosen_;
  CsvTable table_;
  std::uint64_t line_ = 1;
};

std::vector<Option> table_options() {
  const auto is_separator = [](const std::string& text) {
    return std::ranges::any_of(separators, [&](const auto& it) { return text == it.first; });
  };
  return {list_option("label", "the label's column, by name or number from 1, or several; default: the last"),
          list_option("columns", "the inputs, by name or number; default: all but the label"),
          list_option("skip", "instead of columns: those that are not inputs"),
          flag_option("header", true, "whether the first line contains the names of the columns"),
          {"separator", "auto", "\"auto\", \",\", \";\", \"|\" or \"tab\"",
           "of columns; auto: the most frequent one in the first line", is_separator},
          {"decimal", ".", "\".\" or \",\"", "the decimal point of numbers",
           [](const std::string& text) { return text == "." || text == ","; }},
          {"missing", "refuse", "\"refuse\", \"drop\", \"mean\" or a number",
           "for empty inputs, NA, NaN, null, ?: refuse the file, drop the line, or use a value",
           [](const std::string& text) { return missing_rule(text).has_value(); }}};
}

}  // namespace

std::vector<Option> csv_format_options() {
  std::vector<Option> all = table_options();
  std::ranges::move(label_options(), std::back_inserter(all));
  return all;
}

CsvFormat csv_format(const Options& options) {
  const std::string separator = options.text("separator");
  CsvFormat format{
      list_of(options, "label"),
      options.flag("header"),
      list_of(options, "columns"),
      list_of(options, "skip"),
      std::ranges::find(separators, separator, [](const auto& it) { return std::string(it.first); })->second,
      options.text("decimal")[0],
      *missing_rule(options.text("missing")),
      label_options_in(options).kind};
  if (!format.columns.empty() && !format.skip.empty())
    refuse_setup("columns and skip are both given: columns alone are the inputs: leave skip out");
  return format;
}

CsvTable read_csv_table(const FileBytes& file, const CsvFormat& format) {
  return TableReader(file, format, nullptr).read();
}

CsvTable read_csv_table(const FileBytes& file, const CsvFormat& format, const KnownColumns& known) {
  return TableReader(file, format, &known).read();
}

bool has_csv_header(const FileBytes& file, const CsvFormat& format) {
  std::optional<bool> found;
  read_csv(file, format.separator, [&](std::uint64_t, const Fields& fields) {
    const auto is_value = [&](const std::string& it) {
      return number_of(it, format.decimal) || is_missing(it);
    };
    if (!found) found = !std::ranges::all_of(fields, is_value);
  });
  return found.value_or(false);
}

}  // namespace steelyard
