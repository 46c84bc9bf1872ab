// `theory`: what search approximates, computed exactly on a toy model.
#include "base/error.h"
#include "base/json.h"
#include "base/output.h"
#include "cli/commands.h"
#include "theory/power_toy.h"
#include "theory/report.h"

namespace counterbeam::cli {
namespace {

struct TheoryOptions {
  int vocab = 3;
  int horizon = 6;
  double steer = 0.25;
  double contrast = 1.0;
  bool balanced = false;
  std::string table;
  double alpha = 4;
};

Json power_json(double alpha) {
  const ToyModel toy = plan_or_guess();
  return {{"alpha", alpha},
          {"zeta", {power_zeta(toy, {0}, alpha), power_zeta(toy, {1}, alpha)}},
          {"plan", power_first_token(toy, alpha)[0]},
          {"plan_low_temperature", low_temperature_first_token(toy, alpha)[0]},
          {"answers", power_distribution(toy, alpha)}};
}

void print_truncation(const ExactTheory& theory, const std::vector<TruncationRow>& rows) {
  print_result("Toy model: {} tokens, {} steps; 1/alpha = {}, largest |reward| = {:.6f}\n",
               theory.model().vocab(), theory.model().horizon(), theory.steer(),
               theory.largest_reward());
  print_result("Target: pi(a) exp(R(a)/alpha) / Z with Z = {:.6f}\n\n", theory.zeta({}));
  print_result("Total variation to the target when K tokens are drawn as if nothing came after:\n");
  print_result("{:>4} {:>11} {:>11} {:>12} {:>11} {:>11}  {}\n", "K", "distance", "sum bound",
               "closed form", "worst step", "step bound", "holds");
  for (const TruncationRow& row : rows)
    print_result("{:>4} {:>11.6f} {:>11.6f} {:>12.6f} {:>11.6f} {:>11.6f}  {}\n", row.chunk,
                 row.distance, row.trajectory_bound, row.closed_form, row.worst_step,
                 row.step_bound, row.holds ? "yes" : "NO");
  print_result("K = 1 is the naive per-token policy; K = {} is exact.\n\n",
               theory.model().horizon());
}

void print_power(double alpha) {
  const ToyModel toy = plan_or_guess();
  const auto answers = power_distribution(toy, alpha);
  print_result("Power toy (PLAN .4 then .95/.05, GUESS .6 then .55/.45), alpha = {}:\n", alpha);
  print_result("  zeta          {:.6f} / {:.6f}\n", power_zeta(toy, {0}, alpha),
               power_zeta(toy, {1}, alpha));
  print_result("  p_pow(PLAN)   {:.6f}   (low temperature gives {:.6f})\n",
               power_first_token(toy, alpha)[0], low_temperature_first_token(toy, alpha)[0]);
  print_result("  answers       {:.6f} {:.6f} {:.6f} {:.6f}\n", answers[0], answers[1], answers[2],
               answers[3]);
}

void run_theory(const TheoryOptions& options, const Globals& globals) {
  const ToyModel model = options.table.empty()
                             ? ToyModel::random(options.vocab, options.horizon, globals.seed,
                                                options.contrast, options.balanced)
                             : ToyModel::read(options.table);
  const ExactTheory theory(model, options.steer);
  const auto rows = truncation_table(theory, options.balanced);
  bool holds = true;
  for (const TruncationRow& row : rows) holds = holds && row.holds;
  if (globals.json) {
    Json table = Json::array();
    for (const TruncationRow& row : rows)
      table.push_back({{"chunk", row.chunk},
                       {"distance", row.distance},
                       {"trajectory_bound", row.trajectory_bound},
                       {"closed_form", row.closed_form},
                       {"worst_step", row.worst_step},
                       {"step_bound", row.step_bound},
                       {"holds", row.holds}});
    print_result("{}\n", to_line(Json{{"vocab", model.vocab()},
                                      {"horizon", model.horizon()},
                                      {"steer", options.steer},
                                      {"largest_reward", theory.largest_reward()},
                                      {"normaliser", theory.zeta({})},
                                      {"target", theory.target()},
                                      {"naive", theory.truncated(1)},
                                      {"truncation", std::move(table)},
                                      {"power_toy", power_json(options.alpha)},
                                      {"holds", holds}}));
  } else {
    print_truncation(theory, rows);
    print_power(options.alpha);
  }
  if (!holds)
    failed("a bound is violated: see the table{}",
           options.balanced && !options.table.empty()
               ? " (--balanced claims mean reward zero; is that true of this file?)"
               : "");
}

}  // namespace

Command theory_command(const Globals& globals) {
  const auto options = std::make_shared<TheoryOptions>();
  return {
      .name = "theory",
      .summary =
          "Compute on a toy model how far the search is from its exact target, and the bounds of "
          "the theory",
      .description = "--seed picks another toy model. The exit code is 1 if a bound is violated.",
      .options = {{.name = "--vocab",
                   .value = whole(options->vocab, 1, 1000),
                   .help = "Tokens in the vocabulary of the toy model"},
                  {.name = "--horizon",
                   .value = whole(options->horizon, 1, 20),
                   .help = "Steps T of the toy model"},
                  {.name = "--steer",
                   .value = number(options->steer, -100, 100),
                   .help = "Steering strength 1/alpha"},
                  {.name = "--contrast",
                   .value = number(options->contrast, 0, 20),
                   .help = "How far the two contexts differ"},
                  {.name = "--balanced",
                   .value = flag(options->balanced),
                   .help = "Contexts of mean reward zero, and the tighter bounds that then hold"},
                  {.name = "--table",
                   .value = file(options->table),
                   .help = "Read the toy model from a JSON file (docs/theory.md)"},
                  {.name = "--alpha",
                   .value = number(options->alpha, 1, 100),
                   .help = "Exponent of the power toy"}},
      .examples = {"counterbeam theory --vocab 4 --horizon 5 --steer 0.5"},
      .run = [options, &globals] { run_theory(*options, globals); }};
}

}  // namespace counterbeam::cli
