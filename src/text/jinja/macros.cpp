// Macros and call blocks: binds arguments, caller, varargs and kwargs.
#include <fmt/format.h>

#include "text/jinja/depth.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/operations.h"

namespace counterbeam::jinja {
namespace {

Value take(std::vector<std::pair<Text, Value>>& named, std::string_view name) {
  for (auto at = named.begin(); at != named.end(); ++at) {
    if (at->first.view() != name) continue;
    Value value = std::move(at->second);
    named.erase(at);
    return value;
  }
  return {};
}

Value to_dict(const Heap& heap, std::vector<std::pair<Text, Value>> named) {
  const Value dict = heap.dict();
  for (auto& [name, value] : named)
    heap.put(dict.as<DictObject>(), heap.text(std::move(name)), std::move(value));
  heap.settle(dict.as<DictObject>());
  return dict;
}

}  // namespace

Value Interpreter::make_macro(const MacroDef& def, const ScopePtr& scope) {
  // The macro holds the scope that will hold the macro; ~Interpreter breaks the cycle.
  for (ScopePtr outer = scope; outer && !outer->captured; outer = outer->parent) {
    outer->captured = true;
    budget_.take(sizeof(Scope) + 4 * sizeof(Value));
    kept_.push_back(outer);
  }
  auto macro = std::make_unique<MacroObject>();
  heap_.admit(*macro, sizeof(MacroObject), 1);
  macro->def = &def;
  macro->scope = scope;
  return Value(Kind::Macro, macro.release());
}

void Interpreter::bind_macro(const MacroObject& macro, Args args, const ScopePtr& scope) {
  const MacroDef& def = *macro.def;
  std::vector<Value> given(def.params.size());
  for (std::size_t i = 0; i < given.size(); ++i)
    given[i] =
        i < args.positional.size() ? args.positional[i] : take(args.named, def.param_names[i]);
  if (def.uses_caller && !def.explicit_caller) {
    Value caller = take(args.named, "caller");
    if (caller.missing() || caller.is(Kind::None))
      caller = heap_.undefined_hint("No caller defined");
    store(*scope, program_.caller, std::move(caller));
  }
  if (def.uses_kwargs)
    store(*scope, program_.kwargs, to_dict(heap_, std::move(args.named)));
  else if (!args.named.empty())
    throw Fault(fmt::format("macro '{}' takes no keyword argument '{}'", def.name,
                            args.named.front().first.view()));
  if (def.uses_varargs) {
    const auto from = std::min(args.positional.size(), given.size());
    store(*scope, program_.varargs,
          heap_.tuple({args.positional.begin() + static_cast<std::ptrdiff_t>(from),
                       args.positional.end()}));
  } else if (args.positional.size() > given.size()) {
    throw Fault(
        fmt::format("macro '{}' takes not more than {} argument(s)", def.name, given.size()));
  }
  const std::size_t required = given.size() - def.defaults.size();
  for (std::size_t i = 0; i < given.size(); ++i)
    store(*scope, def.params[i],
          given[i].missing() ? heap_.undefined_hint(fmt::format("parameter '{}' was not provided",
                                                                def.param_names[i]))
                             : given[i]);
  for (std::size_t i = required; i < given.size(); ++i)
    if (given[i].missing())
      store(*scope, def.params[i], evaluate(*def.defaults[i - required], scope));
}

Value Interpreter::call_macro(const MacroObject& macro, Args args) {
  const Depth depth(*this);
  const int line = line_;
  const ScopePtr scope = inner(macro.scope);
  bind_macro(macro, std::move(args), scope);
  Text out;
  execute_buffered(macro.def->body, scope, out);
  leave(scope);
  line_ = line;
  return heap_.text(std::move(out));
}

}  // namespace counterbeam::jinja
