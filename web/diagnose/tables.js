// The tables of a diagnosis.
const fixed = (x, digits = 3) => x === null || x === undefined ? "-" : x.toFixed(digits).replace(/^-(?=[0.]*$)/, "").replace("-", MINUS);
const short = x => x === null || x === undefined ? "-" : Number(x.toPrecision(3)).toString().replace("-", MINUS);
const spread = (interval, digits = 3) => !interval ? "-" : interval.low === null ? fixed(interval.mean, digits) :
  `${fixed(interval.mean, digits)} (${fixed(interval.low, digits)} to ${fixed(interval.high, digits)})`;
// With as many digits as its width deserves.
function fine(interval) {
  const half = interval.low === null ? Math.abs(interval.mean) : (interval.high - interval.low) / 2;
  return spread(interval, half > 0 ? Math.min(9, Math.max(2, 1 - Math.floor(Math.log10(half)))) : 3);
}
const points = x => `${x > 0 ? "+" : ""}${fixed(100 * x, 1)}`;

function scrolling_table(place, label, head, rows) {
  const box = make("div", place, undefined, {class: "scroll", tabindex: "0", role: "region", "aria-label": label});
  const table = make("table", box);
  table_row(make("thead", table), head, "th");
  const body = make("tbody", table);
  for (const row of rows) table_row(body, row);
  return table;
}
function show_separation(place, task) {
  const rows = [["likelihood", spread(task.likelihood.auc.within), spread(task.likelihood.auc.pooled), fixed(task.likelihood.best_of.at(-1)), ""]];
  for (const pair of task.pairs) {
    rows.push([`${pair.contexts}: reward`, spread(pair.auc.within), spread(pair.auc.pooled), "", ""]);
    for (const score of pair.scores)
      rows.push([`${pair.contexts}: score ${score.steer}`, spread(score.auc.within), spread(score.auc.pooled), fixed(score.best_of.at(-1)),
                 `${points(score.gain)}, ${probability(score.gain_p)}`]);
  }
  scrolling_table(place, "Separation", ["ranked by", "AUC within questions", "AUC pooled", `best of ${task.samples}`, "gain in points"], rows);
  make("p", place, "AUC within questions: the probability that a right answer ranks above a wrong answer to the same question; 0.5 is chance. " +
    `Pooled compares answers to different questions too. Best of ${task.samples}: accuracy of the sample that ranks highest; the gain is over likelihood, by McNemar\u2019s exact test.`, {class: "note"});
}
function show_rewards(place, task) {
  const rows = task.pairs.map(pair => [
    pair.contexts, fine(pair.reward.mean), short(pair.reward.sd), short(pair.reward.r_max), short(pair.reward.r_999),
    fine(pair.kl_positive.per_token), fine(pair.kl_negative.per_token), short(pair.reward_right), short(pair.reward_wrong)]);
  scrolling_table(place, "Rewards", ["pair", "reward per token", "sd", "r_max", "99.9 % of |r|", "KL to positive", "KL to negative", "R/|a| of right", "of wrong"], rows);
  make("p", place, "KL is per token, of the base prompt from each context. r_max is the largest |reward| seen; it grows with the number of tokens, so the 99.9 % quantile stands beside it.", {class: "note"});
}
function show_future(place, task) {
  const rows = task.pairs.flatMap(pair => pair.future.flatMap(point => point.steers.map(at => (
    {name: `${pair.contexts}, ${point.place === "halfway" ? "half-way" : "first block"}, ${at.steer}`, point, at}))));
  if (!rows.length) { make("p", place, "No rollouts were made, or no two partial answers of a question differed.", {class: "note"}); return; }
  scrolling_table(place, "Future correction",
    ["pair, place, steer", "tokens", "to come", "log zeta", "spread among siblings", "spread of the score", "pairs reordered", "effective rollouts"],
    rows.map(({name, point, at}) => [name, fixed(point.tokens, 0), fixed(point.remaining_tokens, 0), short(at.log_zeta),
      `${short(at.spread)} (noise ${short(at.noise)})`, short(at.score_spread), `${fixed(100 * at.order_changes, 0)} %`, `${fixed(at.effective_rollouts, 1)} of ${point.rollouts}`]));
  make("p", place, "log zeta is what the target adds to a partial answer for its future, and what a search ignores; only its spread among siblings, beside that of the score, changes a ranking.", {class: "note"});
  scrolling_table(place, "Bounds", ["pair, place, steer", "distance", "bound", "with 99.9 % of |r|", "if balanced"],
    rows.map(({name, at}) => [name, at.distance ? `${spread(at.distance, 2)}, noise ${fixed(at.distance_noise, 2)}` : "-",
      `${fixed(at.bound)}${at.bound > 0.99 ? " (vacuous)" : ""}`, fixed(at.bound_999), fixed(at.bound_balanced)]));
  make("p", place, "Distance: total variation between siblings of the first block weighted with and without zeta. Its bound is tanh((T \u2212 t) r/alpha) with T the longest answer seen; above 0.99 it says nothing. " +
    "The balanced form holds only if the mean reward is zero after every prefix.", {class: "note"});
}
function show_tokens(place, pair) {
  const details = make("details", place);
  make("summary", details, `Tokens with the largest rewards: ${pair.contexts}`);
  const table = scrolling_table(details, `Tokens: ${pair.contexts}`, ["reward", "token after its text", "problem", "answer"], []);
  table.classList.add("tokens");
  for (const token of [...pair.highest_tokens, ...pair.lowest_tokens.toReversed()]) {
    const row = make("tr", table.tBodies[0]);
    make("td", row, (token.reward > 0 ? "+" : "") + fixed(token.reward, 2));
    const words = make("span", make("td", row, undefined, {class: "words"}), undefined, {class: "token"});
    make("span", words, token.before, {class: "before"});
    make("mark", words, token.token);
    make("td", row, token.problem);
    make("td", row, token.correct ? "right" : "wrong", {class: token.correct ? "right" : "wrong"});
  }
}
