#include "server/checkpoint/manifest.h"

#include <array>
#include <charconv>
#include <cmath>

#include "core/error.h"
#include "core/json.h"

namespace steelyard {
namespace {

struct BadManifest {
  std::string why;
};

// Rules are stored by name, because their numbers may change.
constexpr std::pair<Rule, const char*> rule_names[] = {
    {Rule::step, "step"}, {Rule::ema, "ema"}, {Rule::mean, "mean"}};

const char* rule_name(Rule rule) {
  for (const auto& [value, name] : rule_names) {
    if (value == rule) return name;
  }
  return "step";
}

Rule rule_of(const std::string& text) {
  for (const auto& [value, name] : rule_names) {
    if (text == name) return value;
  }
  throw BadManifest{"no rule is called \"" + text + "\""};
}

// Many JSON readers cannot keep 64 random bits in a number.
std::string hexadecimal(std::uint64_t value) {
  char text[16];
  const auto end = std::to_chars(text, text + sizeof text, value, 16).ptr;
  return std::string(text, end);
}

std::uint64_t from_hexadecimal(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw BadManifest{"\"" + text + "\" is not a hexadecimal number"};
  }
  return value;
}

Json layout_json(const Layout& layout) {
  Json tensors = Json::array(), ranges = Json::array();
  for (const TensorPlace& t : layout.tensors) {
    tensors.push_back({{"name", t.name}, {"shape", t.shape}, {"offset", t.offset}});
  }
  for (const Range& r : layout.ranges) {
    ranges.push_back({{"begin", r.begin},
                      {"end", r.end},
                      {"rule", rule_name(r.rule)},
                      {"decay", r.decay},
                      {"norm_group", r.norm_group},
                      {"keep", r.keep},
                      {"rate", r.rate}});
  }
  return {{"slice_size", layout.slice_size}, {"tensors", tensors}, {"ranges", ranges}};
}

// The seal covers the text without white space, so that an editor may reformat the file.
std::string seal_of(const Json& body) {
  const std::string text = dump_json(body);
  return seal(std::as_bytes(std::span(text))).xxh3_128;
}

// Fields of the body. Throws BadManifest with the name of a missing or mistyped field.
const Json& field(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (found == object.end()) throw BadManifest{"\"" + std::string(key) + "\" is missing"};
  return *found;
}

template <class T>
T get(const Json& object, const char* key) {
  try {
    return field(object, key).get<T>();
  } catch (const Json::exception&) {
    throw BadManifest{"\"" + std::string(key) + "\" has the wrong type"};
  }
}

std::uint64_t as_count(const Json& value, const char* key) {
  if (!value.is_number_unsigned()) throw BadManifest{"\"" + std::string(key) + "\" is not a count"};
  return value.get<std::uint64_t>();
}
std::uint64_t count(const Json& object, const char* key) { return as_count(field(object, key), key); }

// Earlier releases stored a Boolean.
double factor(const Json& object, const char* key) {
  if (field(object, key).is_boolean()) return get<bool>(object, key) ? 1 : 0;
  return get<double>(object, key);
}

// Returns only layouts that are valid for slices(): dense, not empty, within their size.
Layout layout_of(const Json& json) {
  Layout layout;
  layout.slice_size = count(json, "slice_size");
  for (const Json& t : field(json, "tensors")) {
    std::vector<std::uint64_t> shape;
    for (const Json& extent : field(t, "shape")) {
      shape.push_back(as_count(extent, "shape"));
    }
    layout.tensors.push_back({get<std::string>(t, "name"), std::move(shape), count(t, "offset")});
  }
  for (const Json& r : field(json, "ranges")) {
    layout.ranges.push_back({count(r, "begin"), count(r, "end"), rule_of(get<std::string>(r, "rule")),
                             factor(r, "decay"), static_cast<std::uint32_t>(count(r, "norm_group"))});
    // Missing in earlier releases:
    if (r.contains("keep")) layout.ranges.back().keep = get<double>(r, "keep");
    if (r.contains("rate")) layout.ranges.back().rate = get<double>(r, "rate");
  }
  if (const std::string damage = damage_of(layout); !damage.empty()) throw BadManifest{damage};
  if (layout.slice_size == 0) throw BadManifest{"its layout is invalid"};
  return layout;
}

// Earlier releases stored a single number.
std::vector<double> numbers(const Json& json, const char* key) {
  return field(json, key).is_array() ? get<std::vector<double>>(json, key)
                                     : std::vector{get<double>(json, key)};
}

std::uint32_t whole_number(const Json& json, const char* key) {
  const std::uint64_t value = count(json, key);
  if (value > UINT32_MAX) throw BadManifest{"\"" + std::string(key) + "\" is too large"};
  return static_cast<std::uint32_t>(value);
}

auto extents(auto& source) {
  return std::array{std::pair{"height", &source.height}, std::pair{"width", &source.width},
                    std::pair{"channels", &source.channels}, std::pair{"classes", &source.classes}};
}

// Empty lists are left out.
auto names_in(auto& source) {
  return std::array{std::pair{"class_names", &source.class_names},
                    std::pair{"column_names", &source.column_names}, std::pair{"layers", &source.layers}};
}

auto scales_in(auto& source) {
  return std::array{std::pair{"target_mean", &source.target_mean},
                    std::pair{"target_deviation", &source.target_deviation}};
}

SampleSource source_of(const Json& json) {
  SampleSource source{get<std::string>(json, "data"), count(json, "count"), get<std::string>(json, "hash"),
                      count(json, "batch")};
  if (!json.contains("mean")) return source;  // from an earlier release
  source.mean = numbers(json, "mean");
  source.deviation = numbers(json, "deviation");
  if (!json.contains("height")) return source;  // likewise
  for (const auto& [key, value] : extents(source)) *value = whole_number(json, key);
  for (const auto& [key, names] : names_in(source)) {
    if (json.contains(key)) *names = get<std::vector<std::string>>(json, key);
  }
  for (const auto& [key, scale] : scales_in(source)) {
    if (json.contains(key)) *scale = get<std::vector<double>>(json, key);
  }
  if (source.target_mean.size() != source.target_deviation.size() ||
      (!source.target_mean.empty() && source.target_mean.size() != source.classes))
    throw BadManifest{"\"target_mean\" or \"target_deviation\" does not have a number for each target"};
  return source;
}

// Checks the format first, because other formats may have other fields.
Manifest manifest_of(const Json& body) {
  if (const std::uint64_t format = count(body, "format"); format != Manifest::format) {
    throw BadManifest{"it has format " + std::to_string(format) + ", and this program reads format " +
                      std::to_string(Manifest::format)};
  }
  Manifest m;
  m.progress = {count(body, "term"),   count(body, "version"),       count(body, "epoch"),
                count(body, "offset"), get<double>(body, "seconds"), get<std::string>(body, "policy_state")};
  m.progress.workers = get<std::vector<std::string>>(body, "workers");
  m.seed = count(body, "seed");
  m.fingerprint = from_hexadecimal(get<std::string>(body, "fingerprint"));
  m.steps = count(body, "steps");
  m.state_slots = count(body, "state_slots");
  m.layout = layout_of(field(body, "layout"));
  if (body.contains("samples")) m.source = source_of(field(body, "samples"));
  for (const auto& [name, file] : field(body, "files").items()) {
    m.files[name] = {count(file, "size"), get<std::string>(file, "xxh3_128")};
  }
  return m;
}

}  // namespace

std::string manifest_text(const Manifest& m) {
  const Progress& p = m.progress;
  Json files = Json::object();
  for (const auto& [name, file] : m.files) files[name] = {{"size", file.size}, {"xxh3_128", file.xxh3_128}};
  Json samples = {{"data", m.source.data},   {"count", m.source.samples}, {"hash", m.source.hash},
                  {"batch", m.source.batch}, {"mean", m.source.mean},     {"deviation", m.source.deviation}};
  for (const auto& [key, value] : extents(m.source)) samples[key] = *value;
  for (const auto& [key, names] : names_in(m.source)) {
    if (!names->empty()) samples[key] = *names;
  }
  for (const auto& [key, scale] : scales_in(m.source)) {
    if (!scale->empty()) samples[key] = *scale;
  }
  const Json body = {{"format", Manifest::format},
                     {"term", p.term},
                     {"version", p.version},
                     {"epoch", p.epoch},
                     {"offset", p.offset},
                     {"seconds", p.seconds},
                     {"policy_state", p.policy_state},
                     {"workers", p.workers},
                     {"seed", m.seed},
                     {"fingerprint", hexadecimal(m.fingerprint)},
                     {"steps", m.steps},
                     {"state_slots", m.state_slots},
                     {"layout", layout_json(m.layout)},
                     {"samples", samples},
                     {"files", files}};
  return dump_json(Json{{"checkpoint", body}, {"xxh3_128", seal_of(body)}}, 1) + "\n";
}

Manifest parse_manifest(std::string_view text, const std::string& path) {
  try {
    const Json whole = parse_json(text);
    if (whole.is_discarded()) throw BadManifest{"it is not JSON; it was cut off or changed"};
    const Json body = field(whole, "checkpoint");
    if (get<std::string>(whole, "xxh3_128") != seal_of(body))
      throw BadManifest{"its hash does not match its contents"};
    return manifest_of(body);
  } catch (const BadManifest& damage) {
    throw Failure(ExitCode::io, path + ": not a good checkpoint manifest: " + damage.why);
  }
}

Manifest read_manifest(const std::string& checkpoint) {
  const std::string file = checkpoint + "/" + manifest_file;
  const std::vector<std::byte> bytes = read_bytes(file, Manifest::longest);
  return parse_manifest({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, file);
}

}  // namespace steelyard
