#include "protocol/message_text.h"

#include <charconv>
#include <string_view>

#include "protocol/archive.h"

namespace steelyard {
namespace {

// A cereal archive that writes each value as text, separated by spaces. Numbers have all their digits.
class TextWriter : public cereal::OutputArchive<TextWriter, cereal::AllowEmptyClassElision> {
 public:
  TextWriter() : OutputArchive(this) {}
  void put(std::string_view word) {
    text += ' ';
    text += word;
  }
  std::string text;
};

template <Plain T>
void CEREAL_SAVE_FUNCTION_NAME(TextWriter& writer, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    writer.put(value ? "yes" : "no");
  } else {
    char digits[64];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    writer.put({digits, static_cast<std::size_t>(end - digits)});
  }
}
void CEREAL_SAVE_FUNCTION_NAME(TextWriter& writer, const std::string& value) {
  std::string shown = "\"";
  for (const char c : value) shown += c < ' ' ? '?' : c;
  writer.put(shown + '"');
}
template <class T>
void CEREAL_SAVE_FUNCTION_NAME(TextWriter& writer, const std::vector<T>& values) {
  writer.put("[");
  for (const T& value : values) writer(value);
  writer.put("]");
}
template <class K, class V>
void CEREAL_SAVE_FUNCTION_NAME(TextWriter& writer, const std::map<K, V>& values) {
  writer.put("[");
  for (const auto& [key, value] : values) writer(key, value);
  writer.put("]");
}
template <class Enum>
void CEREAL_SAVE_FUNCTION_NAME(TextWriter& writer, const UpTo<Enum>& it) {
  writer(static_cast<unsigned>(it.value));
}
template <Plain Number>
void CEREAL_SAVE_FUNCTION_NAME(TextWriter& writer, const Positive<Number>& it) {
  writer(it.value);
}
template <class Number>
void CEREAL_SAVE_FUNCTION_NAME(TextWriter& writer, const Anything<Number>& it) {
  writer(it.value);
}
void CEREAL_SAVE_FUNCTION_NAME(TextWriter& writer, const Measured& it) { writer(it.value); }
template <class List>
void CEREAL_SAVE_FUNCTION_NAME(TextWriter& writer, const Bounded<List>& it) {
  writer(it.value);
}
void CEREAL_SAVE_FUNCTION_NAME(TextWriter& writer, const ForPeople& it) { writer(it.text); }
template <class T>
void CEREAL_SAVE_FUNCTION_NAME(TextWriter& writer, const Shared<T>& it) {
  writer(*it);
}
void CEREAL_SAVE_FUNCTION_NAME(TextWriter& writer, const Blob& blob) {
  writer.put("(" + std::to_string(blob.size()) + " bytes)");
}

// "Start"
template <class T>
std::string_view name_of() {
  const std::string_view all = __PRETTY_FUNCTION__;
  const std::size_t end = all.find_first_of(";]", all.find("T = "));
  const std::size_t begin = all.rfind(':', end) + 1;
  return all.substr(begin, end - begin);
}

// For output records: their main field.
void put(TextWriter& writer, const Ended& it) {
  writer(static_cast<unsigned>(it.outcome), it.text, it.progress);
}
void put(TextWriter& writer, const RoundRecord& it) {
  writer(it.round, static_cast<unsigned>(it.purpose), it.epoch, it.positions, it.seconds, it.loss,
         it.accuracy);
  for (const RoundRecord::Part& part : it.parts) writer(part.name, part.share, part.seconds);
}
template <class Said>
void put(TextWriter& writer, const Said& said) {
  if constexpr (cereal::traits::is_output_serializable<Said, TextWriter>::value) writer(said);
}

}  // namespace

std::string text_of(const Message& message) {
  TextWriter writer;
  std::visit(
      [&](const auto& receiver) {
        std::visit(
            [&]<class Said>(const Said& said) {
              writer.text = name_of<Said>();
              put(writer, said);
            },
            receiver);
      },
      message);
  return writer.text;
}

}  // namespace steelyard
