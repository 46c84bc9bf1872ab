#include "base/json.h"

#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/quote.h"

namespace counterbeam {
namespace {

constexpr std::size_t kMaxDepth = 256;

// Builds the value during parsing, in constant time per element, and rejects two things that
// nlohmann's own builder accepts: unbounded nesting and duplicate keys.
class Builder : public Json::json_sax_t {
 public:
  explicit Builder(std::string_view name) : name_(name) {}
  Json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // does not occur in JSON text

  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& key) override {
    if (!open_.back().keys.insert(key).second) bad_input("{}: key \"{}\" occurs twice", name_, key);
    key_ = std::move(key);
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const Json::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    std::string_view what = error.what();
    if (const auto at = what.find("] "); at != what.npos) what.remove_prefix(at + 2);
    bad_input("{}: not valid JSON: {}", name_, printable(what, 300));
  }

 private:
  struct Open {
    Json* value;
    std::unordered_set<std::string> keys;
  };

  // Stores the value in the innermost open container and returns its address. The address stays
  // valid while the value is open, because only the innermost container grows.
  Json* place(Json value) {
    if (open_.empty()) return &(root_ = std::move(value));
    Json& parent = *open_.back().value;
    if (parent.is_array()) return &parent.get_ref<Json::array_t&>().emplace_back(std::move(value));
    // Appends directly: the ordered map's own insert would first scan all keys.
    using Pairs = std::vector<std::pair<const std::string, Json>>;
    Pairs& pairs = parent.get_ref<Json::object_t&>();
    return &pairs.emplace_back(std::move(key_), std::move(value)).second;
  }
  bool add(Json value) {
    place(std::move(value));
    return true;
  }
  bool open(Json value) {
    if (open_.size() == kMaxDepth) bad_input("{}: nested deeper than {} levels", name_, kMaxDepth);
    open_.push_back({place(std::move(value)), {}});
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view name_;
  Json root_;
  std::string key_;  // key of the next value
  std::vector<Open> open_;
};

}  // namespace

Json parse_json(std::string_view text, std::string_view name) {
  // nlohmann's parser takes a zero byte for the end and would ignore what follows.
  if (const auto zero = text.find('\0'); zero != text.npos)
    bad_input("{}: not valid JSON: byte {} is zero", name, zero);
  Builder builder(name);
  Json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

Json read_json_file(const std::filesystem::path& path) {
  constexpr std::uint64_t kMostJson = 64 << 20;  // of our own files, and of small ones of models
  return parse_json(read_file(path, kMostJson), path.string());
}

std::string to_text(const Json& value) {
  return value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void write_json_file(const std::filesystem::path& path, const Json& value) {
  write_file(path, to_text(value));
}

std::string to_line(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace counterbeam
