// One section of a file, read by the file's schema. Rules that involve several keys are not in the schema;
// the reader of the file checks them afterwards with demand().
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/config/schema.h"
#include "core/text.h"  // number_text

namespace steelyard {

class JobSource;

// Source and schema must outlive it.
class TomlSection {
 public:
  // Rejects sections that the schema does not have, suggesting the most similar name, and keys in place of
  // sections. Throws Failure (configuration), as all functions here do.
  static void check_all(const JobSource& source, const Schema& schema);

  // If the file has no such section, the result has no keys.
  static TomlSection of(const JobSource& source, const Schema& schema, const std::string& name);
  // Each [[name]], or each [name.PART].
  static std::vector<TomlSection> all_of(const JobSource& source, const Schema& schema,
                                         const std::string& name);
  // Each [[host.worker]] of this [[host]].
  [[nodiscard]] std::vector<TomlSection> all_below(const std::string& name) const;

  // Fills the draft. Rejects keys that the schema does not have, suggesting the most similar name, and values
  // of the wrong type or out of range.
  void read() const;

  [[nodiscard]] const std::string& part() const;  // "lbb" of [policy.lbb]; of a [[worker]] its name
  [[nodiscard]] bool given(const std::string& key) const;
  [[nodiscard]] std::string place(const std::string& key) const;  // "hosts.toml:3:1"
  // Throws `what` unless `holds`. The message points to `key`, or to the section if the key is not given.
  void demand(bool holds, const std::string& key, const std::string& what) const;
  // The same for an error in the options of a model, data set or policy; `key` holds its name.
  void demand_none(const std::optional<OptionTrouble>& trouble, const std::string& key) const;
  // The same for an error text; empty: no error.
  void demand_none(const std::string& trouble, const std::string& key) const;

 private:
  struct Text;  // hides toml++
  explicit TomlSection(Text text);

  std::shared_ptr<const Text> text_;
};

}  // namespace steelyard
