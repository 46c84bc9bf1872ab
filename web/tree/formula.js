// The score of a candidate as a formula with its numbers, where its sums give the recorded score.
const tex_number = x => `${Number(x.toFixed(3)) < 0 ? "-" : ""}${Math.abs(x).toFixed(3)}`;
const tex_factor = x => Number(x.toFixed(3)) < 0 ? `(${tex_number(x)})` : tex_number(x);

// {symbols, numbers} as TeX, or undefined where the score is not one of these (a scorer of one's own, votes).
function score_formula(model, node) {
  if (!node.length) return undefined;
  const steer = Number(model.settings.steer ?? 0), fits = strength => Math.abs(model.score_at(node, strength) - node.score) < 1e-3 * Math.max(1, Math.abs(node.score));
  const contrast = node.token_positive && node.token_positive.length, sum = model.settings.aggregate === "sum";
  const over = (top, bottom) => sum ? top : `\\frac{${top}}{${bottom}}`;
  if (contrast && fits(steer))
    return {symbols: `s = ${over("\\ell + \\lambda\\,(\\ell_{+} - \\ell_{-})", "n")}`,
            numbers: `${over(`${tex_number(node.base)} + ${steer}\\,(${tex_number(node.positive)} - ${tex_factor(node.negative)})`, node.length)} = ${tex_number(node.score)}`,
            words: `\u2113, \u2113\u208a, \u2113\u208b: log-probability of the answer after the base, positive and negative prompt; \u03bb: steer${sum ? "" : "; n: tokens"}.`};
  if (fits(0))
    return {symbols: `s = ${over("\\ell", "n")}`, numbers: `${over(tex_number(node.base), node.length)} = ${tex_number(node.score)}`,
            words: `\u2113: log-probability of the answer${sum ? "" : "; n: tokens"}.`};
}
function show_formula(parent, model, node) {
  const formula = score_formula(model, node), box = make("div", parent);
  if (!formula) {
    make("p", box, `Score ${fixed(node.score)}, given by the method; it is not a sum over these tokens.`, {class: "note"});
    return;
  }
  const scroll = make("div", box, undefined, {class: "formula", tabindex: 0, role: "region", "aria-label": "Formula of the score"});
  scroll.append(tex_to_mathml(`${formula.symbols} = ${formula.numbers}`, true));
  make("p", box, formula.words, {class: "note"});
}
