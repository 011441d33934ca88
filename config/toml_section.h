// One section of a scenario file or a hosts file, key by key. Whatever is asked for is known; finish()
// refuses the rest by name, with the nearest key that there is.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace steelyard {

class JobSource;

class TomlSection {
 public:
  // The source must outlive the section. A section that is not there has no keys; `part` is that of a section
  // like [policy.lbb].
  static TomlSection of(const JobSource& source, const std::string& name, const std::string& part = "");
  static std::vector<TomlSection> all_of(const JobSource& source, const std::string& name);  // [[name]]
  // The sections in this one: a list of them under `key`, called `title`, and one, which a value of another
  // kind is not; `expected` says what to give. None, and one without keys, if the key is not there.
  std::vector<TomlSection> all_below(const char* key, const std::string& title);
  TomlSection below(const char* key, const std::string& expected);

  // Each leaves `into` as it is if the key is not there, and says whether it is. Throws Failure
  // (configuration) for a value of another kind or out of range.
  bool number(const char* key, double& into, double least, double most);
  template <std::unsigned_integral Number>
  bool whole(const char* key, Number& into, double least, double most) {
    const std::optional<std::uint64_t> value = whole(key, least, most);
    if (value) into = static_cast<Number>(*value);
    return value.has_value();
  }
  bool text(const char* key, std::string& into, const std::vector<std::string>& choices = {});
  // `is_good` looks at a text that is not empty; `expected` says what it wants.
  bool text(const char* key, std::string& into, bool (*is_good)(std::string_view),
            const std::string& expected);
  // The same for what may be written without quotes if it is a number.
  bool text_or_number(const char* key, std::string& into, bool (*is_good)(std::string_view),
                      const std::string& expected);
  bool flag(const char* key, bool& into);
  bool numbers(const char* key, std::vector<double>& into);
  // All keys, as options of somebody who knows which there are: plain values, as texts.
  [[nodiscard]] std::map<std::string, std::string> options() const;

  [[nodiscard]] bool given(const char* key) const;
  // A rule that joins keys is broken: `key`, or where it is not given the section, is where to look.
  void demand(bool holds, const char* key, const std::string& what) const;
  void finish() const;

 private:
  struct Table;  // as the file has it; no header but one knows how
  TomlSection(const JobSource& source, std::string title, const Table& table);
  std::optional<std::uint64_t> whole(const char* key, double least, double most);
  template <class Read>
  bool take_text(const char* key, std::string& into, Read read, bool (*is_good)(std::string_view),
                 const std::string& expected);
  const Table& look_for(const char* key);
  [[noreturn]] void refuse(const char* key, const std::string& what) const;

  const JobSource* source_;
  std::string title_;
  std::shared_ptr<const Table> table_;
  std::vector<std::string> known_;
};

}  // namespace steelyard
