// Filters that sort, group, select or map.
#include <fmt/format.h>

#include <algorithm>

#include "text/jinja/attribute_path.h"
#include "text/jinja/builtin.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/operations.h"

namespace counterbeam::jinja {
namespace {

struct Keyed {
  Value key, item;
};

// A stable sort, also in reverse, as Python's sorted().
void sort_keyed(const Heap& heap, std::vector<Keyed>& all, bool reverse) {
  if (reverse) std::reverse(all.begin(), all.end());
  std::stable_sort(all.begin(), all.end(),
                   [&](const Keyed& a, const Keyed& b) { return less(heap, a.key, b.key); });
  if (reverse) std::reverse(all.begin(), all.end());
}

Value sorted_list(const Call& call, std::vector<Keyed> all, bool reverse) {
  sort_keyed(call.heap, all, reverse);
  std::vector<Value> sorted;
  for (Keyed& entry : all) sorted.push_back(std::move(entry.item));
  return call.heap.list(std::move(sorted));
}

Value sort_filter(Call& call) {
  const bool case_sensitive = call.flag(2);
  const std::vector<AttributePath> paths = attribute_paths(call.heap, call[3]);
  std::vector<Keyed> all;
  for (const Value& item : items(call.heap, call[0])) {
    std::vector<Value> key;
    for (const AttributePath& path : paths)
      key.push_back(ignore_case(call.heap, path(call.in, item), case_sensitive));
    all.push_back({call.heap.list(std::move(key)), item});
  }
  return sorted_list(call, std::move(all), call.flag(1));
}

Value dictsort_filter(Call& call) {
  if (!call[0].is(Kind::Dict)) call.fail("a mapping is needed");
  std::string_view by = "key";
  if (call.has(2)) by = call.text(2).view();
  if (by != "key" && by != "value") call.fail("You can only sort by either \"key\" or \"value\"");
  std::vector<Keyed> all;
  for (const Value& pair : dict_items(call.heap, call[0]))
    all.push_back(
        {ignore_case(call.heap, items_of(pair)[by == "key" ? 0 : 1], call.flag(1)), pair});
  return sorted_list(call, std::move(all), call.flag(3));
}

template <bool kMax>
Value extreme(Call& call) {
  const AttributePath path(call.heap, call[2]);
  Value best, best_key;
  for (const Value& item : items(call.heap, call[0])) {
    Value key = ignore_case(call.heap, path(call.in, item), call.flag(1));
    const bool better =
        best.missing() || (kMax ? less(call.heap, best_key, key) : less(call.heap, key, best_key));
    if (!better) continue;
    best = item;
    best_key = std::move(key);
  }
  if (best.missing()) return call.heap.undefined_hint("No aggregated item, sequence was empty.");
  return best;
}

Value make_group(const Heap& heap, Value grouper, std::vector<Value> members) {
  Value pair = heap.tuple({std::move(grouper), heap.list(std::move(members))});
  pair.as<ListObject>().group = true;
  return pair;
}

Value groupby_filter(Call& call) {
  const AttributePath path(call.heap, call[1]);
  const bool case_sensitive = call.flag(3);
  std::vector<Keyed> all;
  for (const Value& item : items(call.heap, call[0]))
    all.push_back({ignore_case(call.heap, path(call.in, item, call[2]), case_sensitive), item});
  sort_keyed(call.heap, all, false);
  std::vector<Value> groups, members;
  for (std::size_t i = 0; i < all.size(); ++i) {
    members.push_back(all[i].item);
    const bool last = i + 1 == all.size() || !equal(all[i].key, all[i + 1].key, &call.budget);
    if (!last) continue;
    Value grouper = path(call.in, members[0], call[2]);
    groups.push_back(make_group(call.heap, std::move(grouper), std::exchange(members, {})));
  }
  return call.heap.list(std::move(groups));
}

std::uint32_t depth_of(const Call& call) {
  std::uint32_t depth = call[0].depth();
  for (const Value& value : call.rest) depth = std::max(depth, value.depth());
  for (const auto& [name, value] : call.named) depth = std::max(depth, value.depth());
  return depth + 1;
}

// The result of a filter that works when it is first read: make(in, source, args), or nothing where
// the source is false.
template <typename Make>
Value lazily(Call& call, const Make& make) {
  const Value source = call[0];
  const std::uint32_t depth = depth_of(call);
  Interpreter* const in = &call.in;
  Args args{std::move(call.rest), std::move(call.named)};
  return call.heap.iterator(
      [in, source, args, make] {
        return truth(source) ? make(*in, source, args) : std::vector<Value>();
      },
      depth);
}

Value map_filter(Call& call) {
  return lazily(call, [](Interpreter& in, const Value& source, const Args& args) {
    std::vector<Value> mapped;
    Value attribute, fallback;
    for (const auto& [name, value] : args.named) {
      if (name.view() == "attribute") attribute = value;
      if (name.view() == "default") fallback = value;
    }
    const bool by_attribute = args.positional.empty() && !attribute.missing();
    if (!by_attribute && args.positional.empty()) throw Fault("map requires a filter argument");
    if (by_attribute && args.named.size() > (fallback.missing() ? 1u : 2u))
      throw Fault("map() got an unexpected keyword argument");
    const AttributePath path(in.heap(), attribute);
    for (const Value& item : items(in.heap(), source)) {
      in.budget().step();
      if (by_attribute) {
        mapped.push_back(path(in, item, fallback));
        continue;
      }
      Args rest{{args.positional.begin() + 1, args.positional.end()}, args.named};
      mapped.push_back(in.call_filter(args.positional[0], item, std::move(rest)));
    }
    return mapped;
  });
}

template <bool kWanted, bool kByAttribute>
Value select_filter(Call& call) {
  return lazily(call, [](Interpreter& in, const Value& source, const Args& args) {
    std::vector<Value> kept;
    constexpr std::size_t kTest = kByAttribute ? 1 : 0;
    if (kByAttribute && args.positional.empty())
      throw Fault("Missing parameter for attribute name");
    const AttributePath path(in.heap(), kByAttribute ? args.positional[0] : Value());
    for (const Value& item : items(in.heap(), source)) {
      in.budget().step();
      const Value subject = path(in, item);
      bool passes;
      if (args.positional.size() > kTest) {
        const auto from = args.positional.begin() + kTest + 1;
        passes = in.call_test(args.positional[kTest], subject,
                              Args{{from, args.positional.end()}, args.named});
      } else {
        passes = truth(subject);
      }
      if (passes == kWanted) kept.push_back(item);
    }
    return kept;
  });
}

}  // namespace

std::vector<Builtin> selection_filters() {
  return {
      {"sort", sort_filter, "_value ?reverse ?case_sensitive ?attribute"},
      {"dictsort", dictsort_filter, "_value ?case_sensitive ?by ?reverse"},
      {"min", extreme<false>, "_value ?case_sensitive ?attribute"},
      {"max", extreme<true>, "_value ?case_sensitive ?attribute"},
      {"groupby", groupby_filter, "_value attribute ?default ?case_sensitive"},
      {"map", map_filter, "_value *args **named"},
      {"select", select_filter<true, false>, "_value *args **named"},
      {"reject", select_filter<false, false>, "_value *args **named"},
      {"selectattr", select_filter<true, true>, "_value *args **named"},
      {"rejectattr", select_filter<false, true>, "_value *args **named"},
  };
}

}  // namespace counterbeam::jinja
