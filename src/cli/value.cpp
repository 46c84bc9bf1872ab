// The kinds of values that options take.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "base/closest.h"
#include "base/error.h"
#include "base/quote.h"
#include "cli/command.h"

namespace counterbeam::cli {
namespace {

template <typename Number>
Number parsed(std::string_view value, std::string_view origin, Number least, Number most,
              std::string_view kind) {
  Number number{};
  const char* end = value.data() + value.size();
  const auto [at, error] = std::from_chars(value.data(), end, number);
  const bool whole = at == end && !value.empty();
  if (whole && error == std::errc() && number >= least && number <= most) return number;
  if (whole && (error == std::errc() || error == std::errc::result_out_of_range))
    bad_input("{}: {} is out of range; allowed: {} to {}", origin, printable(value), least, most);
  bad_input("{}: {} is not {}", origin, in_quotes(value), kind);
}

template <typename Target>
Value integer(Target& target, int least, int most) {
  return {.placeholder = "INT",
          .range = most == kMost ? fmt::format("at least {}", least)
                                 : fmt::format("{} to {}", least, most),
          .take = [&target, least, most](std::string_view value, std::string_view origin) {
            target = parsed(value, origin, least, most, "a whole number");
          }};
}

template <typename Target>
Value stored(Target& target, std::string placeholder) {
  return custom(std::move(placeholder),
                [&target](std::string_view value, std::string_view) { target = value; });
}

// Calls `item` for every part between commas.
template <typename Item>
void each_item(std::string_view list, const Item& item) {
  while (true) {
    const auto comma = list.find(',');
    item(list.substr(0, comma));
    if (comma == list.npos) return;
    list.remove_prefix(comma + 1);
  }
}

template <typename Number>
Value list_of(std::vector<Number>& target, Number least, Number most, std::string placeholder,
              std::string_view what) {
  return {.placeholder = std::move(placeholder),
          .standard = fmt::format("{}", fmt::join(target, ",")),
          .range = fmt::format("{} to {}", least, most),
          .several = true,
          .take = [&target, least, most, what, given = false](std::string_view list,
                                                              std::string_view origin) mutable {
            if (!given) target.clear();  // what is given replaces the default
            given = true;
            each_item(list, [&](std::string_view item) {
              target.push_back(parsed(item, origin, least, most, what));
            });
          }};
}

}  // namespace

Value custom(std::string placeholder,
             std::function<void(std::string_view value, std::string_view origin)> take) {
  return {.placeholder = std::move(placeholder), .take = std::move(take)};
}

Value flag(bool& target) {
  return custom("", [&target](std::string_view, std::string_view) { target = true; });
}

Value text(std::string& target, std::string placeholder) {
  Value value = stored(target, std::move(placeholder));
  value.standard = target.find(' ') == target.npos ? target : in_quotes(target);
  return value;
}

Value text(std::optional<std::string>& target, std::string placeholder) {
  return stored(target, std::move(placeholder));
}

Value file(std::string& target) {
  return text(target, "FILE");
}

Value folder(std::string& target) {
  return text(target, "FOLDER");
}

Value whole(int& target, int least, int most) {
  Value value = integer(target, least, most);
  if (target >= least && target <= most) value.standard = std::to_string(target);
  return value;
}

Value whole(std::optional<int>& target, int least, int most) {
  return integer(target, least, most);
}

Value whole(std::uint64_t& target) {
  return {.placeholder = "INT",
          .standard = std::to_string(target),
          .range = "at least 0",
          .take = [&target](std::string_view value, std::string_view origin) {
            target =
                parsed(value, origin, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max(),
                       "a whole number of 0 or more");
          }};
}

Value number(double& target, double least, double most) {
  return {.placeholder = "NUMBER",
          .standard = fmt::format("{}", target),
          .range = fmt::format("{} to {}", least, most),
          .take = [&target, least, most](std::string_view value, std::string_view origin) {
            target = parsed(value, origin, least, most, "a number");
          }};
}

Value one_of(std::string& target, std::vector<std::string> choices) {
  return {.placeholder = "NAME",
          .standard = target,
          .choices = choices,
          .take = [&target, choices](std::string_view value, std::string_view origin) {
            if (std::find(choices.begin(), choices.end(), value) == choices.end()) {
              const std::vector<std::string_view> names(choices.begin(), choices.end());
              bad_input("{}: {} is not known; allowed: {}{}", origin, in_quotes(value),
                        fmt::join(choices, ", "), did_you_mean(value, names));
            }
            target = value;
          }};
}

Value texts(std::vector<std::string>& target, std::string placeholder) {
  Value value =
      custom(std::move(placeholder), [&target](std::string_view list, std::string_view origin) {
        each_item(list, [&](std::string_view item) {
          if (item.empty()) bad_input("{}: {} has an empty item", origin, in_quotes(list));
          target.emplace_back(item);
        });
      });
  value.several = true;
  return value;
}

Value repeated(std::vector<std::string>& target, std::string placeholder) {
  Value value = custom(std::move(placeholder), [&target](std::string_view item, std::string_view) {
    target.emplace_back(item);
  });
  value.several = true;
  return value;
}

Value wholes(std::vector<int>& target, int least, int most) {
  return list_of(target, least, most, "INT,...", "a whole number");
}

Value numbers(std::vector<double>& target, double least, double most) {
  return list_of(target, least, most, "NUMBER,...", "a number");
}

}  // namespace counterbeam::cli
