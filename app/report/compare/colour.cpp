#include "app/report/compare/colour.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <optional>

#include "core/text.h"

namespace steelyard {
namespace {

struct Hue {
  const char* name;
  int degrees;  // of the OKLCH circle
};
constexpr Hue policies[] = {{"steelyard", 258}, {"lb-bsp", 75},    {"dlb", 150},    {"lbb", 355},
                            {"boa", 215},       {"static", 115},   {"oracle", 300}, {"omnilearn", 95},
                            {"cannikin", 133},  {"orchestra", 200}};

// A family of modes, without its numbers.
struct Mode {
  const char* name;
  int degrees;       // under equal shares
  double lightness;  // what it adds, under another policy
  const char* dash;
};
constexpr Mode modes[] = {{"flexrr", 100, -0.03, "4 2"},    {"backup", 120, 0, "6 2"},
                          {"ssp", 48, 0.1, "7 3"},          {"asp", 22, -0.1, "2 3"},
                          {"dc-asgd", 8, -0.15, "2 3 6 3"}, {"nsoft", 66, 0.15, "4 3"},
                          {"ksoft", 84, 0.15, "10 4"},      {"eager", 102, 0.15, "3 6"},
                          {"local", 178, 0.05, "9 3 2 3"},  {"oneshot", 328, -0.05, "14 4"}};

template <class Named, std::size_t n>
const Named* named(const Named (&list)[n], const std::string& name) {
  const auto found = std::ranges::find(list, name, [](const Named& it) { return std::string(it.name); });
  return found == std::end(list) ? nullptr : &*found;
}

// FNV-1a: the same everywhere and always.
unsigned hash_of(const std::string& text) {
  unsigned hash = 2166136261U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

int hue_of(const std::string& text) { return static_cast<int>(hash_of(text) % 360); }

std::string style(const std::string& hue, double chroma, double lightness, const std::string& dash) {
  const auto thousandths = [](double value) { return std::to_string(static_cast<int>(value * 1000)); };
  return "--h:" + hue + ";--k:calc(" + thousandths(chroma) + "/1000);--d:calc(" + thousandths(lightness) +
         "/1000);--dash:" + dash;
}

}  // namespace

std::string method_style(const Entrant& entrant) {
  if (!entrant.alone.empty()) return "--c:var(--ink);--dash:2 4";
  const std::size_t colon = std::min(entrant.sync.find(':'), entrant.sync.size());
  const std::string family = entrant.sync.substr(0, colon), detail = entrant.sync.substr(colon);
  const Mode* mode = named(modes, family);
  const Hue* policy = named(policies, entrant.policy);
  const bool equal = entrant.policy == "equal", bsp = family == "bsp";
  if (equal && bsp) return style("250", 0.015, 0, "none");

  int degrees = policy != nullptr ? policy->degrees : hue_of(entrant.policy);
  double lightness = 0;
  if (equal) degrees = mode != nullptr ? mode->degrees : hue_of(family);
  if (!equal && !bsp) lightness = mode != nullptr ? mode->lightness : 0.15;
  if (const auto number = number_in<unsigned>(detail.substr(std::min<std::size_t>(1, detail.size())))) {
    lightness += 0.05 * (std::bit_width(*number) % 4) - 0.05;
    degrees += 2 * static_cast<int>(*number % 5);
  } else if (!detail.empty()) {
    degrees += static_cast<int>(hash_of(detail) % 30);
  }
  return style(std::to_string(degrees % 360), 0.14, lightness,
               bsp               ? "none"
               : mode != nullptr ? mode->dash
                                 : "5 5");
}

}  // namespace steelyard
