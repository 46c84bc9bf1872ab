// Two candidates side by side: the words that the other lacks are marked, tokens keep the colours of their rewards.
function show_comparison_of(parent, tree, first, second) {
  const {model} = tree, pair = [first, second], texts = pair.map(node => model.text(node)), ranges = differing_ranges(...texts);
  parent.replaceChildren();
  const head = make("div", parent, undefined, {class: "candidate-head"});
  make("h2", head, `Candidates ${first.id} and ${second.id}`);
  const actions = make("div", parent, undefined, {class: "actions"});
  button(actions, "End the comparison", () => tree.pin(tree.pinned), {class: "unpin"});
  const last_common = model.path(first).filter(node => model.path(second).includes(node)).at(-1);
  make("p", parent, last_common ? `They parted after block ${last_common.block + 1}, at candidate ${last_common.id}.` : "They parted in the first block.", {class: "note"});
  const sides = make("div", parent, undefined, {class: "sides"});
  pair.forEach((node, i) => {
    const box = make("div", sides, undefined, {class: `side side-${i + 1}`});
    make("h3", box, `Candidate ${node.id}`);
    show_tokens(box, model.tokens(node), ranges[i]);
  });
  const table = make("table", make("div", parent, undefined, {class: "scroll", tabindex: 0, role: "region", "aria-label": "Figures of the two"}));
  table_row(make("thead", table), ["", `candidate ${first.id}`, `candidate ${second.id}`, "difference"], "th");
  const body = make("tbody", table), rows = [["score", node => node.score], ["base log-probability", node => node.base], ["tokens", node => node.length, 0]];
  if (model.contrast) rows.push(["reward", node => node.positive - node.negative]);
  for (const [name, value, digits = 3] of rows) table_row(body, [name, fixed(value(first), digits), fixed(value(second), digits), with_sign(value(second) - value(first), digits)]);
}
