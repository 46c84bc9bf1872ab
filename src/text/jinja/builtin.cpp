#include "text/jinja/builtin.h"

#include <fmt/format.h>

#include "text/jinja/interpreter.h"
#include "text/jinja/operations.h"

namespace counterbeam::jinja {
namespace {

struct Parameter {
  std::string_view name;
  bool optional = false;
};

// Parses the next parameter of a signature. Returns false at its end.
bool next_parameter(std::string_view& signature, Parameter& parameter) {
  if (signature.empty()) return false;
  const std::size_t space = std::min(signature.find(' '), signature.size());
  parameter.name = signature.substr(0, space);
  signature.remove_prefix(std::min(space + 1, signature.size()));
  parameter.optional = parameter.name[0] == '?';
  if (parameter.optional) parameter.name.remove_prefix(1);
  return true;
}

Value take_named(Args& args, std::string_view name) {
  for (auto at = args.named.begin(); at != args.named.end(); ++at) {
    if (at->first.view() != name) continue;
    Value value = std::move(at->second);
    args.named.erase(at);
    return value;
  }
  return {};
}

void bind(Call& call, Args args) {
  std::string_view signature = call.builtin.signature;
  Parameter parameter;
  std::size_t next = 0;
  bool takes_rest = false, takes_named = false;
  while (next_parameter(signature, parameter)) {
    if (parameter.name.starts_with("**")) {
      takes_named = true;
    } else if (parameter.name[0] == '*') {
      takes_rest = true;
      while (next < args.positional.size()) call.rest.push_back(std::move(args.positional[next++]));
    } else {
      Value value;
      if (next < args.positional.size()) {
        value = std::move(args.positional[next++]);
      } else if (!args.named.empty() && parameter.name[0] != '_') {
        value = take_named(args, parameter.name);
      }
      if (value.missing() && !parameter.optional)
        call.fail(fmt::format("missing argument '{}'", parameter.name));
      call.args.push_back(std::move(value));
    }
  }
  if (next < args.positional.size() && !takes_rest) call.fail("too many arguments");
  if (!args.named.empty() && !takes_named)
    call.fail(fmt::format("unexpected keyword argument '{}'", args.named.front().first.view()));
  call.named = std::move(args.named);
}

}  // namespace

std::int64_t Call::integer(std::size_t i, std::int64_t otherwise) const {
  if (!has(i)) return otherwise;
  if (!args[i].is_integral())
    fail(fmt::format("an integer is needed, not '{}'", type_name(args[i])));
  return args[i].integer();
}

bool Call::flag(std::size_t i, bool otherwise) const {
  return has(i) ? truth(args[i]) : otherwise;
}

const Text& Call::text(std::size_t i) const {
  if (!args[i].is(Kind::Str)) fail(fmt::format("a string is needed, not '{}'", type_name(args[i])));
  return text_of(args[i]);
}

Text Call::string(std::size_t i) const {
  return to_text(heap, args[i]);
}

void Call::fail(std::string_view message) const {
  throw Fault(fmt::format("{}(): {}", builtin.name, message));
}

BuiltinTable make_table(std::initializer_list<std::vector<Builtin>> parts) {
  BuiltinTable table;
  for (const auto& part : parts)
    for (const Builtin& builtin : part) table.emplace(builtin.name, builtin);
  return table;
}

Value call_builtin(Interpreter& in, const Builtin& builtin, Value self, Args args) {
  Call call{in, in.heap(), in.budget(), builtin, std::move(self), {}, {}, {}};
  bind(call, std::move(args));
  return builtin.run(call);
}

}  // namespace counterbeam::jinja
