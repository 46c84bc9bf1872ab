// The values of a template, which behave like Python's. Scalars are stored in the Value; everything
// else is an immutable reference-counted object, except for namespaces, loops, iterators and
// cyclers, which are mutable as in Jinja. An object knows its nesting depth, which bounds every
// recursion.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/jinja/budget.h"
#include "text/jinja/text.h"

namespace counterbeam::jinja {

enum class Kind : std::uint8_t {
  Missing,  // no value: an argument that was not given
  None,
  Bool,
  Int,
  Float,
  Undefined,
  Str,
  List,
  Tuple,
  Dict,
  Range,
  Iterator,  // a generator: can be iterated once, has no length
  View,      // dict.keys(), dict.values(), dict.items()
  Namespace,
  Macro,
  Function,
  Loop,
  Cycler,
  Joiner,
  Slice,  // only as a subscript
};

struct Object {
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() {
    if (budget) budget->give_back(charged);
  }

  std::atomic<std::uint32_t> owners{0};
  std::uint32_t depth = 0;
  std::size_t charged = 0;
  Budget* budget = nullptr;
};

class Value {
 public:
  Value() = default;
  explicit Value(bool b) : kind_(Kind::Bool) { data_.boolean = b; }
  explicit Value(std::int64_t i) : kind_(Kind::Int) { data_.integer = i; }
  explicit Value(double f) : kind_(Kind::Float) { data_.real = f; }
  Value(Kind kind, Object* object) : kind_(kind) {
    data_.object = object;
    hold();
  }
  static Value none() {
    Value value;
    value.kind_ = Kind::None;
    return value;
  }
  static Value count(std::size_t n) { return Value(static_cast<std::int64_t>(n)); }

  Value(const Value& other) : kind_(other.kind_), data_(other.data_) { hold(); }
  Value(Value&& other) noexcept : kind_(other.kind_), data_(other.data_) {
    other.kind_ = Kind::Missing;
  }
  Value& operator=(Value other) noexcept {
    std::swap(kind_, other.kind_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~Value() { drop(); }

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool missing() const { return kind_ == Kind::Missing; }
  bool is_number() const {
    return kind_ == Kind::Bool || kind_ == Kind::Int || kind_ == Kind::Float;
  }
  bool is_integral() const { return kind_ == Kind::Bool || kind_ == Kind::Int; }
  // REQUIRES: a value of the kind (integer() accepts Bool too)
  bool boolean() const { return data_.boolean; }
  std::int64_t integer() const { return kind_ == Kind::Bool ? data_.boolean : data_.integer; }
  double real() const { return kind_ == Kind::Float ? data_.real : static_cast<double>(integer()); }
  Object* object() const { return has_object() ? data_.object : nullptr; }
  template <typename T>
  T& as() const {
    return static_cast<T&>(*data_.object);
  }
  std::uint32_t depth() const { return has_object() && data_.object ? data_.object->depth : 0; }
  // Python's `is`.
  bool same_as(const Value& other) const;

 private:
  bool has_object() const { return kind_ >= Kind::Undefined; }
  void hold() {
    if (has_object() && data_.object) data_.object->owners.fetch_add(1, std::memory_order_relaxed);
  }
  void drop() {
    if (has_object() && data_.object &&
        data_.object->owners.fetch_sub(1, std::memory_order_acq_rel) == 1)
      delete data_.object;
  }

  Kind kind_ = Kind::Missing;
  union {
    bool boolean;
    std::int64_t integer;
    double real;
    Object* object;
  } data_ = {.integer = 0};
};

struct StrObject : Object {
  Text text;
  bool markup = false;  // the result of `safe` or `escape`
};

struct ListObject : Object {  // List and Tuple
  std::vector<Value> items;
  bool group = false;  // a pair of groupby, whose items also have names
};

// Keeps insertion order. Large dicts have an index of their keys.
struct DictObject : Object {
  std::vector<std::pair<Value, Value>> items;
  std::unordered_multimap<std::size_t, std::size_t> index;  // hash of the key -> position
};

struct RangeObject : Object {
  std::int64_t start = 0, stop = 0, step = 1;
  std::int64_t size() const;
  std::int64_t at(std::int64_t i) const { return start + i * step; }
};

struct IteratorObject : Object {
  std::function<std::vector<Value>()> make;  // called on first use
  std::vector<Value> items;
  std::size_t next = 0;
  const char* type_name = "generator";
};

struct ViewObject : Object {
  enum class Part { Keys, Values, Items } part = Part::Keys;
  Value dict;
};

struct UndefinedObject : Object {
  std::string hint;             // the whole message, or
  Value name;                   // the name or subscript that was looked up
  std::string_view owner_type;  // on a value of this type (empty: a variable)
};

struct NamespaceObject : Object {
  std::vector<std::pair<Text, Value>> items;
};

struct SliceObject : Object {
  Value start, stop, step;  // None if not given
};

struct CyclerObject : Object {
  std::vector<Value> items;
  std::size_t next = 0;
};

struct JoinerObject : Object {
  Value separator;
  bool used = false;
};

// The items of an iterable: a view of a list's items, or a temporary list.
class Items {
 public:
  Items() = default;
  explicit Items(std::vector<Value> made) : made_(std::move(made)), all_(made_) {}
  Items(Value keep, std::span<const Value> all) : keep_(std::move(keep)), all_(all) {}
  Items(Items&& other) noexcept { *this = std::move(other); }
  Items& operator=(Items&& other) noexcept {
    const bool own = other.all_.data() == other.made_.data();
    made_ = std::move(other.made_);
    keep_ = std::move(other.keep_);
    all_ = own ? std::span<const Value>(made_) : other.all_;
    return *this;
  }

  std::size_t size() const { return all_.size(); }
  bool empty() const { return all_.empty(); }
  const Value& operator[](std::size_t i) const { return all_[i]; }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }
  std::vector<Value> copy() const { return {all_.begin(), all_.end()}; }

 private:
  Value keep_;
  std::vector<Value> made_;
  std::span<const Value> all_;
};

// Creates objects and charges them to a budget. The template's constants and the conversation have
// none.
class Heap {
 public:
  explicit Heap(Budget* budget) : budget_(budget) {}
  Budget* budget() const { return budget_; }

  Value text(Text text, bool markup = false) const;
  Value text(std::string_view bytes) const { return text(Text(std::string(bytes))); }
  Value list(std::vector<Value> items) const;
  Value tuple(std::vector<Value> items) const;
  Value dict() const;
  // A dict is charged by settle(), to be called after the last put().
  void put(DictObject& dict, Value key, Value value) const;
  void settle(DictObject& dict) const;
  Value range(std::int64_t start, std::int64_t stop, std::int64_t step) const;
  Value iterator(std::function<std::vector<Value>()> make, std::uint32_t depth,
                 const char* type_name = "generator") const;
  Value view(ViewObject::Part part, Value dict) const;
  Value undefined_hint(std::string hint) const;
  Value undefined_name(std::string_view name) const;
  Value undefined_item(const Value& owner, Value name) const;
  Value slice(Value start, Value stop, Value step) const;
  // Charges a new object and checks its nesting depth.
  void admit(Object& object, std::size_t bytes, std::uint32_t depth) const;

 private:
  Value sequence(Kind kind, std::vector<Value> items) const;
  Budget* budget_;
};

inline const Text& text_of(const Value& value) {
  return value.as<StrObject>().text;
}
inline const std::vector<Value>& items_of(const Value& value) {
  return value.as<ListObject>().items;
}
inline bool is_markup(const Value& value) {
  return value.is(Kind::Str) && value.as<StrObject>().markup;
}

// Python's name of the type.
std::string_view type_name(const Value& value);
std::string undefined_message(const UndefinedObject& undefined);

// Equality, hashing and lookup as Python's ==, hash() and dict do. hash_value throws for lists.
bool equal(const Value& a, const Value& b, Budget* budget);
std::size_t hash_value(const Value& value);
const Value* find(const DictObject& dict, const Value& key);
const Value* find(const DictObject& dict, std::string_view key);

}  // namespace counterbeam::jinja
