// Global functions: those of Jinja and those that transformers adds.
#include <fmt/format.h>

#include <ctime>

#include "text/jinja/builtin.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/operations.h"

namespace counterbeam::jinja {
namespace {

constexpr std::int64_t kMaxRange = 100000;  // as in Jinja's sandbox

Value make_range(Call& call) {
  const bool single = !call.has(1);
  const std::int64_t start = single ? 0 : call.integer(0);
  const std::int64_t stop = single ? call.integer(0) : call.integer(1);
  const std::int64_t step = call.integer(2, 1);
  if (step == 0) call.fail("arg 3 must not be zero");
  std::int64_t span = 0;
  const bool wide = step > 0 ? __builtin_sub_overflow(stop, start, &span)
                             : step == INT64_MIN || __builtin_sub_overflow(start, stop, &span);
  if (wide || span / (step > 0 ? step : -step) >= kMaxRange + (span % step == 0 ? 1 : 0))
    call.fail(fmt::format("Range too big. The sandbox blocks ranges larger than {}.", kMaxRange));
  return call.heap.range(start, stop, step);
}

// dict(mapping or pairs, **named)
Value make_dict(Call& call) {
  const Value dict = call.heap.dict();
  auto& object = dict.as<DictObject>();
  if (call.has(0) && call[0].is(Kind::Dict)) {
    for (const auto& [key, value] : call[0].as<DictObject>().items)
      call.heap.put(object, key, value);
  } else if (call.has(0)) {
    for (const Value& pair : items(call.heap, call[0])) {
      const Items both = items(call.heap, pair);
      if (both.size() != 2) call.fail("every item must be a pair");
      call.heap.put(object, both[0], both[1]);
    }
  }
  for (const auto& [name, value] : call.named) call.heap.put(object, call.heap.text(name), value);
  call.heap.settle(object);
  return dict;
}

Value make_namespace(Call& call) {
  const Value dict = make_dict(call);
  std::vector<std::pair<Text, Value>> attributes;
  for (const auto& [key, value] : dict.as<DictObject>().items) {
    if (!key.is(Kind::Str)) continue;  // not reachable from a template
    if (text_of(key).view().starts_with("_"))
      call.fail(
          fmt::format("underscore-prefixed attribute '{}' is not allowed", text_of(key).view()));
    attributes.emplace_back(text_of(key), value);
  }
  return call.in.make_namespace(std::move(attributes));
}

Value make_cycler(Call& call) {
  if (call.rest.empty()) throw Fault("at least one item has to be provided");
  auto cycler = std::make_unique<CyclerObject>();
  std::uint32_t depth = 0;
  for (const Value& item : call.rest) depth = std::max(depth, item.depth());
  call.heap.admit(*cycler, sizeof(CyclerObject) + call.rest.size() * sizeof(Value), depth + 1);
  cycler->items = std::move(call.rest);
  return Value(Kind::Cycler, cycler.release());
}

Value make_joiner(Call& call) {
  auto joiner = std::make_unique<JoinerObject>();
  const Value separator = call.has(0) ? call[0] : call.heap.text(", ");
  call.heap.admit(*joiner, sizeof(JoinerObject), separator.depth() + 1);
  joiner->separator = separator;
  return Value(Kind::Joiner, joiner.release());
}

Value raise_exception(Call& call) {
  throw Fault(std::string(call.string(0).view()));
}

// strftime of the C library, with %f, %z and %Z as Python formats them for a naive time. The result
// of a conversion is trusted only if all of the conversion is.
Value strftime_now(Call& call) {
  const Text& format = call.text(0);
  const std::string_view given = format.view();
  Text out;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i] != '%' || i + 1 >= given.size()) {
      out.append(format, i, i + 1);
      continue;
    }
    const std::size_t start = i;
    std::string conversion = {'%', given[++i]};
    if ((given[i] == '-' || given[i] == '_' || given[i] == '0' || given[i] == '^' ||
         given[i] == '#' || given[i] == 'E' || given[i] == 'O') &&
        i + 1 < given.size())
      conversion += given[++i];
    const bool trusted = format.substr(start, i + 1).all_trusted();
    if (conversion == "%f") {
      out.append("000000", trusted);
    } else if (conversion != "%z" && conversion != "%Z") {
      char buffer[128];
      const std::size_t size =
          std::strftime(buffer, sizeof buffer, conversion.c_str(), &call.in.now());
      out.append(std::string_view(buffer, size), trusted);
    }
  }
  return call.heap.text(std::move(out));
}

}  // namespace

const Builtin* find_global(std::string_view name) {
  static const BuiltinTable kGlobals = make_table({{
      {"range", make_range, "_start ?_stop ?_step"},
      {"dict", make_dict, "?_from **named"},
      {"namespace", make_namespace, "?_from **named"},
      {"cycler", make_cycler, "*items"},
      {"joiner", make_joiner, "?sep"},
      {"raise_exception", raise_exception, "message"},
      {"strftime_now", strftime_now, "format"},
  }});
  const auto found = kGlobals.find(name);
  return found == kGlobals.end() ? nullptr : &found->second;
}

}  // namespace counterbeam::jinja
